#pragma once

#include "core/base/result.hpp"
#include "core/generate/device_file.hpp"
#include "core/kernels/self_check.hpp"
#include "core/vk/device.hpp"

#include <filesystem>
#include <optional>

namespace etna::generate {

/// What self-checks found out about the kernels of one device, driver and build, kept on disk.
class KeptVerdict {
public:
    /// An empty folder keeps nothing. `family`: whose kernels the device gets.
    KeptVerdict(const std::filesystem::path& folder, const vk::DeviceProfile& profile,
                kernels::PlanFamily family);

    /// Empty when nothing is known, or what is kept names kernels that there are not.
    [[nodiscard]] kernels::SelfCheckVerdict read() const;
    void write(const kernels::SelfCheckVerdict& verdict) const;

private:
    DeviceFile file_;
};

struct KernelCheckOptions {
    std::filesystem::path cache_folder;         ///< empty: nothing is kept, and each call checks
    std::optional<kernels::PlanFamily> plan_as; ///< choose kernels as for such a device
    kernels::KernelScope scope;                 ///< that must work
};

/// Checks the kernels within the scope that nothing is known of, keeps the verdict, says so in the log, and
/// returns the kernels that must not be trusted. Blocks; submits to the device. Errors: unsupported (a wrong
/// kernel that no other can take the place of), and those of kernels::self_check().
Result<kernels::VariantSet> check_kernels(vk::Device& device, const KernelCheckOptions& options);

} // namespace etna::generate
