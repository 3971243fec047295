#pragma once

#include "core/base/result.hpp"
#include "core/kernels/chosen.hpp"
#include "core/vk/profile.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::vk {
class Instance;
}

namespace etna::generate {

/// Something that would make a device faster, or etna able to use it.
struct Shortfall {
    std::string what;   ///< "memory budget"
    std::string effect; ///< what is so without it
    std::string remedy; ///< what the user can do; empty: nothing
};

/// What is known of a device's kernels. They are checked when a model first needs them (self_check.hpp).
struct SelfCheckReport {
    enum class State : uint8_t { not_run, passed, set_aside } state = State::not_run;
    std::size_t checked = 0;             ///< kernels
    std::vector<std::string_view> wrong; ///< names of those that others take the place of
};

/// One Vulkan device, as `etna devices` tells of it.
struct DeviceReport {
    uint32_t index = 0;
    vk::DeviceProfile profile;
    std::string missing;     ///< why it cannot be used; empty when it can
    uint64_t free_bytes = 0; ///< that a model may take now; 0 when the device cannot be used
    uint64_t total_bytes = 0;
    std::string_view family;           ///< whose kernels it gets
    std::vector<std::string> features; ///< optional ones that etna uses here
    std::vector<Shortfall> shortfalls;
    std::vector<kernels::ChosenKernel> kernels; ///< those that were set aside are not among them
    SelfCheckReport self_check;
    bool is_chosen = false;
    std::string reason; ///< of being chosen or not
};

using DeviceReports = std::vector<DeviceReport>;
/// `wish`, `cache_folder`: as for ExecutorOptions.
using DeviceLister =
    std::function<Result<DeviceReports>(std::string_view wish, const std::filesystem::path& cache_folder)>;

/// Opens each device of the instance for a moment, to read how much memory is free. Blocking. Errors:
/// not_found and invalid_argument (the wish).
Result<DeviceReports> list_devices(vk::Instance& instance, std::string_view wish,
                                   const std::filesystem::path& cache_folder);

/// What stands between a device and full speed. Pure.
std::vector<Shortfall> shortfalls_of(const vk::DeviceProfile& profile);

} // namespace etna::generate
