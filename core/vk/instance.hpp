#pragma once

#include "core/base/result.hpp"
#include "core/vk/profile.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etna::vk {

enum class Validation : uint8_t {
    off,
    /// The Khronos layer must be installed; Instance::validation_messages() returns its messages.
    on,
};

/// A device as listed by the loader, with the features that it lacks.
struct PhysicalDevice {
    uint32_t index = 0;     ///< index in Instance::devices(), for `--device N`
    DeviceProfile profile;  ///< features that could be enabled
    std::string missing;    ///< why etna cannot use it; empty if usable
    void* handle = nullptr; ///< VkPhysicalDevice
};

/// The Vulkan loader and an instance. The loader is opened at run time, so that etna starts without one and
/// can report the missing package.
class Instance {
public:
    /// Errors: no_device (no loader, or no driver; the hint names the packages), unsupported (no validation
    /// layer).
    static Result<std::unique_ptr<Instance>> create(Validation validation);
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    ~Instance();

    [[nodiscard]] const std::vector<PhysicalDevice>& devices() const;

    /// Warnings and errors that the validation layer has reported; thread-safe.
    [[nodiscard]] std::vector<std::string> validation_messages() const;

    struct Impl;
    [[nodiscard]] Impl& impl() { return *impl_; } ///< for core/vk itself

private:
    explicit Instance(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Selects a device among the usable ones: discrete before integrated before virtual before cpu, then most
/// memory, then listing order. `selector` is empty, an index, a UUID (hex, dashes optional) or a substring of
/// a name (case-insensitive); unless empty, it must match exactly one device. Errors: no_device (none usable;
/// lists what each lacks), not_found / invalid_argument (`selector` matches none / several; lists them).
Result<PhysicalDevice> select_device(const std::vector<PhysicalDevice>& devices, std::string_view selector);

} // namespace etna::vk
