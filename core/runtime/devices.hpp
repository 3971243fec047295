#pragma once

#include "core/base/result.hpp"
#include "core/kernels/kernel_choices.hpp"
#include "core/runtime/tuning.hpp"
#include "core/vk/device.hpp"
#include "core/vk/instance.hpp"
#include "core/vk/profile.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::runtime {

/// A missing feature or setting that would make a device faster, or usable by etna.
struct Shortfall {
    std::string what;   ///< "memory budget"
    std::string effect; ///< consequence of its absence
    std::string remedy; ///< action for the user; empty: none
};

/// Self-check results of a device's kernels. A kernel is checked when a model first needs it
/// (self_check.hpp).
struct SelfCheckReport {
    enum class State : uint8_t { not_run, passed, set_aside } state = State::not_run;
    std::size_t checked = 0;             ///< number of kernels
    std::vector<std::string_view> wrong; ///< names of the kernels that failed and are replaced by others
    kernels::VariantSet untrusted = {};  ///< those kernels
};

/// One Vulkan device, as `etna devices` reports it.
struct DeviceReport {
    uint32_t index = 0;
    vk::DeviceProfile profile;
    std::string missing;     ///< why the device is unusable; empty if it is usable
    uint64_t free_bytes = 0; ///< available to a model now; 0 if the device is unusable
    uint64_t total_bytes = 0;
    std::optional<uint64_t> host_free_bytes = std::nullopt; ///< of the machine
    std::string_view family;                                ///< kernel family selected for the device
    std::vector<std::string> features;                      ///< optional features that etna uses on it
    std::vector<Shortfall> shortfalls;
    std::vector<kernels::ChosenKernel> kernels; ///< without those that failed the self-check
    SelfCheckReport self_check;
    std::vector<StoredChoice> tuned; ///< sizes that `etna tune` has stored; all others come from policy
    bool is_chosen = false;
    std::string reason; ///< why the device was or was not chosen
};

using DeviceReports = std::vector<DeviceReport>;
/// `selector`, `cache_folder`: as for ExecutorOptions.
using DeviceLister = std::function<Result<DeviceReports>(std::string_view selector,
                                                         const std::filesystem::path& cache_folder)>;

/// Opens a device if necessary, and returns its memory.
using MemoryReader = std::function<Result<vk::MemoryState>(const vk::PhysicalDevice&)>;

/// Reports on the devices of an instance; `read_memory` is called for each usable one. Blocking. Errors:
/// not_found and invalid_argument (the selector).
Result<DeviceReports> list_devices(const std::vector<vk::PhysicalDevice>& devices, std::string_view selector,
                                   const std::filesystem::path& cache_folder,
                                   const MemoryReader& read_memory);

/// Lists the missing features that slow a device down. Pure.
std::vector<Shortfall> shortfalls_of(const vk::DeviceProfile& profile);

} // namespace etna::runtime
