#pragma once

#include "core/base/result.hpp"
#include "core/kernels/operation.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

namespace etna::kernels {

/// The check results for one device, driver and build.
struct SelfCheckVerdict {
    VariantSet right; ///< results agreed with exact arithmetic
    VariantSet wrong; ///< results did not agree, or the driver failed to compile them

    bool operator==(const SelfCheckVerdict&) const = default;
};

struct SelfCheckOptions {
    std::optional<PlanFamily> family = {}; ///< empty: natural_family
    Precision precision = Precision::exact;
    NeededKernels needed = {}; ///< the kernels to check
    SelfCheckVerdict known = {};
    CodeSource code = shaders::code; ///< as for Library
    /// Time limit: after it, no further kernel is started; at least one is checked.
    std::chrono::steady_clock::duration time_limit = std::chrono::steady_clock::duration::max();
    /// Called on the calling thread, with the kernels of this round checked so far and in total; not called
    /// if every kernel has a verdict. May be empty.
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

/// Number of needed kernels without a verdict. Errors: those of `needed`.
Result<std::size_t> kernels_left(const PlanTarget& target, const NeededKernels& needed,
                                 const SelfCheckVerdict& verdict);

/// Runs each kernel that the device's plans choose, that is needed, and that has no verdict in `known`, on a
/// small problem of odd sizes, and compares with a host reference in double precision, within float rounding
/// error. If one is wrong, its replacements are checked too. Returns `known` plus the new results; kernels
/// not checked within `time_limit` are missing. Blocks; submits to the device, which other threads may use.
/// Errors: out_of_memory, device_lost, internal; those of SelfCheckOptions::needed.
Result<SelfCheckVerdict> self_check(vk::Device& device, const SelfCheckOptions& options);

} // namespace etna::kernels
