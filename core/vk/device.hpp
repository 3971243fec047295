#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/vk/profile.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace etna::vk {

class Instance;
struct PhysicalDevice;

/// Purpose of opening a device.
enum class DeviceUse : uint8_t {
    work,
    /// Compiles pipelines, with Pipeline::statistics() if the driver reports them. Recorded commands are
    /// validated but discarded, and cannot be submitted: for drivers without their hardware.
    inspection,
};

/// Optional features to disable even if the device supports them, named as in DeviceProfile; tests mask each.
struct DeviceOptions {
    bool mask_optional_features =
        false; ///< run with the minimum feature set: Vulkan 1.2 and buffer addresses only
    /// Data from pipeline_cache() of a device with the same driver; borrowed during create(). The driver
    /// rejects foreign data but need not survive corrupt data.
    ByteView pipeline_cache = {};
    DeviceUse use = DeviceUse::work;
};

struct MemoryState {
    uint64_t free_bytes = 0; ///< that can still be allocated: the budget; on CPU devices MemAvailable; on
                             ///< unified memory the smaller of both
    uint64_t total_bytes = 0;
    uint64_t peak_bytes = 0; ///< most that this process has held in device-local memory
    std::optional<uint64_t> host_free_bytes = std::nullopt; ///< MemAvailable; empty: unknown
};

/// Memory that the buffers of a Device take, by the heap that it is on. The driver needs more, for pipelines
/// and for itself.
struct AllocatedMemory {
    struct Part {
        uint64_t used_bytes = 0;     ///< of live buffers
        uint64_t reserved_bytes = 0; ///< of the blocks from the driver that hold them
    };
    Part device; ///< device-local heaps
    Part host;
};

/// Device time of one dispatch.
struct Timing {
    std::string label;   ///< "region/region/pipeline"
    double start_us = 0; ///< since the start of the submission's first dispatch
    double microseconds = 0;
};

/// A logical device with one compute queue and one timeline, shared by every user of the device. Must outlive
/// everything created from it, and not its Instance.
///
/// Thread-safe: a model may load while others generate. Submissions run in the order of submit(). A mutex
/// guards the queue during submit(); the allocator, the command contexts and the deferred releases have their
/// own, and the driver locks its pipeline cache. Recording a command takes none of them. A Recorder and a
/// CommandBuffer belong to one thread at a time; Buffers and Pipelines may be recorded by several.
class Device {
public:
    /// Errors: unsupported (below Vulkan 1.2 with bufferDeviceAddress and timeline semaphores: names the
    /// missing feature), out_of_memory, device_lost.
    static Result<std::unique_ptr<Device>> create(Instance& instance, const PhysicalDevice& physical,
                                                  const DeviceOptions& options = {});
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device(); ///< waits until the device is idle

    [[nodiscard]] const DeviceProfile& profile() const;

    /// Compiled pipelines in the driver's format, for DeviceOptions::pipeline_cache; empty if the driver
    /// provides none.
    [[nodiscard]] std::vector<std::byte> pipeline_cache() const;

    /// Queries the driver and the operating system; too slow for the per-token path.
    [[nodiscard]] MemoryState memory() const;
    [[nodiscard]] AllocatedMemory allocated() const;

    /// Starts recorded work; returns the timeline value that marks its completion. Blocks only while another
    /// thread submits.
    /// Errors: device_lost, out_of_memory, unsupported (opened for inspection).
    Result<uint64_t> submit(CommandBuffer commands);

    /// As submit(), with commands that stay the caller's: recorded once, they run again without any work for
    /// each command. Errors: also invalid_argument (not RecorderOptions::is_reusable, or their last
    /// submission has not completed).
    Result<uint64_t> submit_reusable(CommandBuffer& commands);

    /// Blocks until the timeline reaches `value`. Errors: device_lost.
    Status wait(uint64_t value);

    /// Timeline value that the device has reached. Does not block.
    [[nodiscard]] uint64_t completed() const;

    /// Whether the device has completed every submission. Does not block.
    [[nodiscard]] bool is_idle() const;

    /// Returns the milliseconds that the device spent on a submission that was waited for, without those
    /// before it: measured on the host, from submit() or the completion of the submission before, whichever
    /// was later, to its completion. 0 if 64 others were started since.
    [[nodiscard]] double busy_ms(uint64_t value) const;

    /// Whether a submit() or wait() has failed with device_lost: the device must be opened again.
    [[nodiscard]] bool is_lost() const;

    /// Timings of the newest completed submission that was recorded with timestamps; empty otherwise.
    [[nodiscard]] std::vector<Timing> timings() const;

    struct Impl;
    [[nodiscard]] Impl& impl() { return *impl_; } ///< for core/vk itself

private:
    explicit Device(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::vk
