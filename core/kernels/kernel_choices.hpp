#pragma once

#include "core/base/result.hpp"
#include "core/kernels/operation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::kernels {

/// Display name: "linear q4_k, prefill".
std::string describe(const KernelUse& use);

/// Every kernel that the plans for a target select, by weight format, and then those that read no matrices; a
/// variant with two uses is listed twice. Pure.
std::vector<KernelUse> kernel_uses(const PlanTarget& target);

/// Those of kernel_uses() that are needed. Errors: those of `needed`.
Result<std::vector<KernelUse>> needed_uses(const PlanTarget& target, const NeededKernels& needed);

/// Fails if a plan had to fall back on an untrusted kernel that is needed, because no other kernel can run.
/// Errors: unsupported, naming the kernel, device and driver; those of `needed`.
Status require_trusted(const PlanTarget& target, const NeededKernels& needed);

/// The kernel that one operation runs on a device, for display.
struct ChosenKernel {
    std::string operation;    ///< describe()
    std::string_view variant; ///< name of the shader variant; static
};

/// Of kernel_uses(). Pure.
std::vector<ChosenKernel> chosen_kernels(const PlanTarget& target);

} // namespace etna::kernels
