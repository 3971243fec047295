#include "core/base/log.hpp"
#include "core/vk/instance.hpp"

#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>

namespace etna::vk {
namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& letter : result)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return result;
}

int rank(DeviceType type) {
    switch (type) {
    case DeviceType::discrete:
        return 0;
    case DeviceType::integrated:
        return 1;
    case DeviceType::virtual_gpu:
        return 2;
    case DeviceType::other:
        return 3;
    case DeviceType::cpu:
        return 4;
    }
    return 5;
}

std::optional<uint32_t> parse_index(std::string_view text) {
    uint32_t index = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return index;
}

std::string without_dashes(std::string text) {
    std::erase(text, '-');
    return text;
}

std::string listing(const std::vector<const PhysicalDevice*>& devices) {
    std::string text;
    for (const PhysicalDevice* device : devices)
        text += fmt::format("{}{} `{}`", text.empty() ? "" : ", ", device->index, device->profile.name);
    return text;
}

constexpr uint32_t index_only_below = 100;

/// Devices that match `selector`: by index, else by UUID, else by a substring of the name.
std::vector<const PhysicalDevice*> matches(const std::vector<PhysicalDevice>& devices,
                                           std::string_view selector) {
    const auto collect = [&devices](const auto& fits) {
        std::vector<const PhysicalDevice*> found;
        for (const PhysicalDevice& device : devices) {
            if (fits(device))
                found.push_back(&device);
        }
        return found;
    };
    if (const auto index = parse_index(selector)) {
        auto found = collect([&](const PhysicalDevice& device) { return device.index == *index; });
        // A larger number may be part of a name ("3090"); a small one would be found in many ("LLVM 15").
        if (!found.empty() || *index < index_only_below)
            return found;
    }
    const std::string text = lower(selector);
    auto found = collect(
        [&](const PhysicalDevice& device) { return uuid_text(device.profile) == without_dashes(text); });
    if (!found.empty())
        return found;
    return collect([&](const PhysicalDevice& device) {
        return lower(device.profile.name).find(text) != std::string::npos;
    });
}

Result<PhysicalDevice> select_named(const std::vector<PhysicalDevice>& devices, std::string_view selector) {
    const auto found = matches(devices, selector);
    std::vector<const PhysicalDevice*> all;
    all.reserve(devices.size());
    for (const PhysicalDevice& device : devices)
        all.push_back(&device);
    if (found.empty()) {
        return Error{ErrorKind::not_found, fmt::format("no Vulkan device matches `{}`", selector),
                     fmt::format("the devices are {}", listing(all))};
    }
    if (found.size() > 1) {
        return invalid_argument(fmt::format("`{}` matches several Vulkan devices", selector),
                                fmt::format("name one of {} by its index or UUID", listing(found)));
    }
    const PhysicalDevice& device = *found.front();
    if (!device.missing.empty()) {
        return unsupported(
            fmt::format("the device `{}` cannot be used: it lacks {}", device.profile.name, device.missing),
            "update the GPU's Vulkan driver, or select_device another device");
    }
    return device;
}

} // namespace

Result<PhysicalDevice> select_device(const std::vector<PhysicalDevice>& devices, std::string_view selector) {
    if (devices.empty())
        return Error{ErrorKind::no_device, "no Vulkan device was found", "install the GPU's Vulkan driver"};
    if (!selector.empty())
        return select_named(devices, selector);
    const PhysicalDevice* best = nullptr;
    std::string lacks;
    for (const PhysicalDevice& device : devices) {
        if (!device.missing.empty()) {
            lacks += fmt::format("{}`{}` lacks {}", lacks.empty() ? "" : "; ", device.profile.name,
                                 device.missing);
            continue;
        }
        const auto order = [](const PhysicalDevice& one) {
            return std::tuple(rank(one.profile.type), ~one.profile.memory_bytes, one.index);
        };
        if (best == nullptr || order(device) < order(*best))
            best = &device;
    }
    if (best == nullptr) {
        return Error{ErrorKind::no_device, fmt::format("no Vulkan device can be used: {}", lacks),
                     "update the GPU's Vulkan driver"};
    }
    if (best->profile.type == DeviceType::cpu && !lacks.empty())
        log(LogLevel::warning, fmt::format("passed over: {}; update the GPU's Vulkan driver", lacks));
    return *best;
}

} // namespace etna::vk
