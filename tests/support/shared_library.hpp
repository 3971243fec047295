#pragma once

#include "core/kernels/library.hpp"
#include "tests/support/vulkan.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

namespace etna::test {

/// The compiled kernels of the test device, as `options` select them, shared by the test cases of a process:
/// on a CPU driver, compiling takes most of the time of a test of kernels. Precondition: `options` have the
/// shaders of this build, and no tuning. Not thread-safe.
inline std::shared_ptr<kernels::Library> shared_library(const kernels::LibraryOptions& options) {
    constexpr std::size_t pipelines_max = 200; // of all libraries; a CPU driver takes up to 3 MB for each
    struct Entry {
        kernels::LibraryOptions options;
        std::shared_ptr<kernels::Library> library;
    };
    static auto& entries = *new std::vector<Entry>; // like the device, they live until the process ends
    std::size_t pipelines = 0;
    for (const Entry& entry : entries)
        pipelines += entry.library->created().size();
    if (pipelines > pipelines_max)
        entries.clear();
    auto found = std::ranges::find_if(entries, [&](const Entry& entry) {
        return entry.options.family == options.family && entry.options.precision == options.precision &&
               entry.options.untrusted == options.untrusted;
    });
    if (found == entries.end()) {
        entries.push_back({options, std::make_shared<kernels::Library>(gpu().device, options)});
        found = std::prev(entries.end());
    }
    return found->library;
}

} // namespace etna::test
