#pragma once

#include "core/base/result.hpp"
#include "core/kernels/self_check.hpp"
#include "core/runtime/device_file.hpp"
#include "core/vk/device.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>

namespace etna::runtime {

/// Self-check results for the kernels of one device, driver and build, stored on disk.
class StoredVerdict {
public:
    /// With an empty folder nothing is stored. `family`: the kernel family selected for the device. Results
    /// of fast precision are stored apart, because kernels that serve both write more there.
    StoredVerdict(const std::filesystem::path& folder, const vk::DeviceProfile& profile,
                  kernels::PlanFamily family, kernels::Precision precision = kernels::Precision::exact);

    /// Returns the stored verdict; empty if none is stored, or if it names unknown kernels.
    [[nodiscard]] kernels::SelfCheckVerdict read() const;
    void write(const kernels::SelfCheckVerdict& verdict) const;

private:
    DeviceFile file_;
};

struct KernelCheckOptions {
    std::filesystem::path cache_folder;         ///< empty: nothing is stored, and each call checks
    std::optional<kernels::PlanFamily> plan_as; ///< select kernels as for this family
    kernels::Precision precision = kernels::Precision::exact;
    kernels::NeededKernels needed;                                          ///< kernels that must work
    std::function<void(std::size_t done, std::size_t total)> progress = {}; ///< of kernels::self_check()
};

/// Checks the needed kernels that have no stored result, stores and logs the verdict, and returns the
/// kernels that must not be trusted. Blocks; submits to the device. Errors: unsupported (a wrong kernel that
/// no other can replace), and those of kernels::self_check().
Result<kernels::VariantSet> check_kernels(vk::Device& device, const KernelCheckOptions& options);

} // namespace etna::runtime
