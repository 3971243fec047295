#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/vk/profile.hpp"
#include "core/vk/recorder.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace etna::vk {

class Instance;
struct PhysicalDevice;

/// What a device is opened for.
enum class DeviceUse : uint8_t {
    work,
    /// Pipelines are compiled, with Pipeline::statistics() where the driver can tell them. What is recorded
    /// is checked, but goes nowhere, and cannot be submitted: for drivers whose hardware is not there.
    inspection,
};

/// Optional features to leave off although the device has them, by DeviceProfile's names; tests mask each.
struct DeviceOptions {
    bool mask_optional_features =
        false; ///< run as on the poorest device: Vulkan 1.2 and buffer addresses only
    /// What pipeline_cache() of a device with the same driver gave; borrowed during create(). The driver
    /// refuses what is not its own, but need not survive damage.
    ByteView pipeline_cache = {};
    DeviceUse use = DeviceUse::work;
};

struct MemoryState {
    uint64_t free_bytes = 0; ///< what can still be allocated: budget, on CPU devices MemAvailable, on unified
                             ///< memory the smaller of both
    uint64_t total_bytes = 0;
};

/// Time one dispatch took on the device.
struct Timing {
    std::string label; ///< "region/region/pipeline"
    double microseconds = 0;
};

/// A logical device with one compute queue and one timeline. Must outlive everything created from it, and not
/// its Instance. create/destroy of buffers and pipelines is thread-safe; submit and wait belong to one
/// thread.
class Device {
public:
    /// Errors: unsupported (below Vulkan 1.2 with bufferDeviceAddress and timeline semaphores: says what is
    /// missing), out_of_memory, device_lost.
    static Result<std::unique_ptr<Device>> create(Instance& instance, const PhysicalDevice& physical,
                                                  const DeviceOptions& options = {});
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device(); ///< waits until the device is idle

    [[nodiscard]] const DeviceProfile& profile() const;

    /// Compiled pipelines in the driver's own form, for DeviceOptions::pipeline_cache; empty where it gives
    /// none.
    [[nodiscard]] std::vector<std::byte> pipeline_cache() const;

    /// Asks the driver and the operating system; not for the per-token path.
    [[nodiscard]] MemoryState memory() const;

    /// Starts recorded work; returns the timeline value that marks its completion. Does not block.
    /// Errors: device_lost, out_of_memory, unsupported (opened for inspection).
    Result<uint64_t> submit(Commands commands);

    /// Blocks until the timeline reached `value`. Errors: device_lost.
    Status wait(uint64_t value);

    /// Timeline value that has been reached. Does not block.
    [[nodiscard]] uint64_t completed() const;

    /// Timings of the newest completed submission that was recorded with timestamps; empty otherwise.
    [[nodiscard]] std::vector<Timing> timings() const;

    struct Content;
    [[nodiscard]] Content& content() { return *content_; } ///< for core/vk itself

private:
    explicit Device(std::unique_ptr<Content> content);
    std::unique_ptr<Content> content_;
};

} // namespace etna::vk
