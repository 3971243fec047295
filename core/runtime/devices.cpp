#include "core/runtime/devices.hpp"

#include "core/runtime/self_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::runtime {
namespace {

std::vector<std::string> used_features(const vk::DeviceProfile& profile) {
    std::vector<std::string> features;
    if (profile.subgroup_arithmetic)
        features.push_back(fmt::format("subgroup arithmetic ({})", profile.subgroup_size));
    if (profile.memory_budget)
        features.emplace_back("memory budget");
    if (profile.unified_memory)
        features.emplace_back("unified memory");
    return features;
}

std::string_view kind_of(vk::DeviceType type) {
    constexpr std::array<std::string_view, 5> names = {"discrete GPU", "integrated GPU", "virtual GPU",
                                                       "CPU driver", "device"};
    return names[static_cast<std::size_t>(type)];
}

std::string reason_for(const vk::PhysicalDevice& device, const std::vector<vk::PhysicalDevice>& all,
                       const std::optional<uint32_t>& chosen, std::string_view selector) {
    if (!device.missing.empty())
        return "unusable";
    if (device.index != chosen)
        return selector.empty() ? "another device ranks first" : "another device was requested";
    if (!selector.empty())
        return "requested";
    const auto usable =
        std::count_if(all.begin(), all.end(), [](const auto& one) { return one.missing.empty(); });
    if (usable == 1)
        return all.size() == 1 ? "the only device" : "the only usable device";
    return fmt::format("the first {} with the most memory", kind_of(device.profile.type));
}

SelfCheckReport report_of(const kernels::SelfCheckVerdict& verdict) {
    using State = SelfCheckReport::State;
    SelfCheckReport report{.checked = verdict.right.size() + verdict.wrong.size(),
                           .wrong = verdict.wrong.names(),
                           .untrusted = verdict.wrong};
    if (report.checked > 0)
        report.state = report.wrong.empty() ? State::passed : State::set_aside;
    return report;
}

/// The stored choices for models of either precision.
std::vector<StoredChoice> tuned_on(const vk::DeviceProfile& profile, kernels::PlanFamily family,
                                   const std::filesystem::path& cache_folder) {
    std::vector<StoredChoice> all;
    for (const auto precision : {kernels::Precision::exact, kernels::Precision::fast}) {
        const kernels::PlanTarget target{.family = family, .profile = profile, .precision = precision};
        std::ranges::move(StoredTuning(cache_folder, profile, family, precision).read(target),
                          std::back_inserter(all));
    }
    return all;
}

/// Memory sizes need an open device; they stay 0 if it cannot be opened.
void add_memory(const Result<vk::MemoryState>& memory, DeviceReport& report) {
    if (!memory) {
        report.missing = memory.error().message;
        return;
    }
    report.free_bytes = memory->free_bytes;
    report.total_bytes = memory->total_bytes;
    report.host_free_bytes = memory->host_free_bytes;
}

/// The first number of Mesa's version in a driver's name ("llvmpipe Mesa 25.0.7-2 (LLVM 19.1.7)"), 0 if it
/// has none. (driverVersion of lavapipe is 1 in all releases.)
uint32_t mesa_release(std::string_view driver) {
    constexpr std::string_view before = "Mesa ";
    const auto found = driver.find(before);
    uint32_t release = 0;
    if (found != std::string_view::npos)
        std::from_chars(driver.data() + found + before.size(), driver.data() + driver.size(), release);
    return release;
}

} // namespace

std::vector<Shortfall> shortfalls_of(const vk::DeviceProfile& profile) {
    std::vector<Shortfall> shortfalls;
    if (profile.type == vk::DeviceType::cpu) {
        shortfalls.push_back({"a GPU", "models run on the CPU, many times slower",
                              "install the GPU's own driver: mesa-vulkan-drivers for AMD and Intel, the "
                              "vendor's for NVIDIA"});
    }
    constexpr uint32_t fast_mesa = 25; // its CPU driver loads vectors by address in one instruction
    if (profile.vendor == vk::Vendor::lavapipe && mesa_release(profile.driver) < fast_mesa) {
        shortfalls.push_back({"Mesa 25 or newer", "this one's CPU driver is several times slower",
                              "on Debian 12, mesa-vulkan-drivers is in bookworm-backports"});
    }
    if (!profile.subgroup_arithmetic) {
        shortfalls.push_back(
            {"subgroup arithmetic", "sums go through shared memory, slower", "a newer driver may have it"});
    }
    if (!profile.memory_budget && profile.type != vk::DeviceType::cpu) {
        shortfalls.push_back({"memory budget", "memory that other programs took is not known",
                              "a newer driver may have it; or choose a smaller context (-c)"});
    }
    return shortfalls;
}

Result<DeviceReports> list_devices(const std::vector<vk::PhysicalDevice>& devices, std::string_view selector,
                                   const std::filesystem::path& cache_folder,
                                   const MemoryReader& read_memory) {
    std::optional<uint32_t> chosen;
    if (auto found = vk::select_device(devices, selector)) {
        chosen = found->index;
    } else if (!selector.empty()) {
        return std::move(found).error();
    }
    DeviceReports reports;
    for (const vk::PhysicalDevice& device : devices) {
        const kernels::PlanFamily family = kernels::natural_family(device.profile);
        const auto verdict = StoredVerdict(cache_folder, device.profile, family).read();
        const kernels::PlanTarget target{
            .family = family, .profile = device.profile, .untrusted = verdict.wrong};
        DeviceReport report{.index = device.index,
                            .profile = device.profile,
                            .missing = device.missing,
                            .family = kernels::to_string(target.family),
                            .features = used_features(device.profile),
                            .shortfalls = shortfalls_of(device.profile),
                            .kernels = kernels::chosen_kernels(target),
                            .self_check = report_of(verdict),
                            .tuned = tuned_on(device.profile, family, cache_folder),
                            .is_chosen = device.index == chosen,
                            .reason = reason_for(device, devices, chosen, selector)};
        if (device.missing.empty())
            add_memory(read_memory(device), report);
        reports.push_back(std::move(report));
    }
    return reports;
}

} // namespace etna::runtime
