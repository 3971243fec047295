#pragma once

#include "core/base/result.hpp"
#include "core/kernels/chosen.hpp"

#include <chrono>
#include <cstddef>
#include <optional>

namespace etna::kernels {

/// What is known of the kernels on one device, driver and build.
struct SelfCheckVerdict {
    VariantSet right; ///< agreed with exact arithmetic
    VariantSet wrong; ///< did not, or the driver refused to compile them

    bool operator==(const SelfCheckVerdict&) const = default;
};

struct SelfCheckOptions {
    std::optional<PlanFamily> family = {}; ///< empty: natural_family
    KernelScope scope = KernelScope::everything();
    SelfCheckVerdict known = {};
    CodeSource code = shaders::code; ///< as for Library
    /// When so long has passed, no further kernel is taken on, but for the first.
    std::chrono::steady_clock::duration patience = std::chrono::steady_clock::duration::max();
};

/// How many kernels of the scope the verdict does not tell of.
std::size_t kernels_left(const PlanTarget& target, const KernelScope& scope, const SelfCheckVerdict& verdict);

/// Runs each kernel that the device's plans choose within the scope, and that `known` does not tell of, on
/// a small problem of odd sizes, and compares with the same computed on the host in double precision, within
/// what float rounding explains. Where one is wrong, the kernels that take its place are checked likewise.
/// Returns `known` and what was found; what `patience` did not reach is not in it. Blocks; submits to the
/// device, which no other thread may do meanwhile. Errors: out_of_memory, device_lost, internal.
Result<SelfCheckVerdict> self_check(vk::Device& device, const SelfCheckOptions& options);

} // namespace etna::kernels
