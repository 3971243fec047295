#pragma once

#include "core/base/result.hpp"
#include "core/kernels/chosen.hpp"

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
};

/// Runs each kernel that the device's plans choose within the scope, and that `known` does not tell of, on
/// a small problem of odd sizes, and compares with the same computed on the host in double precision, within
/// what float rounding explains. Where one is wrong, the kernels that take its place are checked likewise.
/// Returns `known` and what was found. Blocks; submits to the device, which no other thread may do meanwhile.
/// Errors: out_of_memory, device_lost, internal.
Result<SelfCheckVerdict> self_check(vk::Device& device, const SelfCheckOptions& options);

} // namespace etna::kernels
