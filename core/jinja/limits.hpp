#pragma once

#include <cstddef>
#include <cstdint>

namespace etna::jinja {

/// Limits of one template and one rendering. Templates are untrusted: these limits bound the time, memory and
/// stack of parsing and rendering.
struct Limits {
    std::size_t template_bytes = std::size_t{1} << 20; ///< size of the template text
    std::size_t nesting = 100;                         ///< nesting depth of blocks and brackets
    std::size_t evaluation_depth = 1000;               ///< nested expressions, statements and macro calls
    std::size_t value_depth = 200;                     ///< nesting depth of lists and dicts
    std::size_t live_bytes = std::size_t{256} << 20;   ///< live strings and containers, output included
    uint64_t work = 2'000'000'000;                     ///< bytes read and written; a step counts as step_work
    int64_t range_length = 100'000; ///< items of one range(), as in the reference's sandbox
};

constexpr uint64_t step_work = 100; ///< work of one expression or statement
/// Work per byte of a substring search, which is linear but slow in the worst case.
constexpr uint64_t search_work = 8;

} // namespace etna::jinja
