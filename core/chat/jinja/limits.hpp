#pragma once

#include <cstddef>
#include <cstdint>

namespace etna::chat::jinja {

/// Bounds of one template and one rendering. A template is untrusted text: whatever it says, parsing and
/// rendering end soon, within this much memory and stack.
struct Limits {
    std::size_t template_bytes = std::size_t{1} << 20; ///< length of the template's text
    std::size_t nesting = 100;                         ///< blocks in blocks and brackets in brackets
    std::size_t evaluation_depth = 1000; ///< expressions, statements and macro calls under way at once
    std::size_t value_depth = 200;       ///< lists in lists and dicts in dicts
    std::size_t live_bytes = std::size_t{256}
                             << 20; ///< strings and containers alive at once, output included
    uint64_t work = 2'000'000'000;  ///< bytes read and written; a step counts as step_work
    int64_t range_length = 100'000; ///< items of one range(), as the reference's sandbox
};

constexpr uint64_t step_work = 100; ///< what evaluating one expression or statement adds to the work
/// What looking for a part adds for each byte: linear in the text, and slow at its worst.
constexpr uint64_t search_work = 8;

} // namespace etna::chat::jinja
