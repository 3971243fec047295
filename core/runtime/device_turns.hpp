#pragma once

#include "core/runtime/device_schedule.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace etna::runtime {

/// The schedule of one device and its lock, for engines on different threads. Used through DeviceClient.
class DeviceTurns {
private:
    friend class DeviceClient;

    std::mutex mutex_; ///< guards schedule_
    std::condition_variable changed_;
    DeviceSchedule schedule_;
};

/// One engine among those that take turns on a device. One thread begins steps; any thread may end them.
class DeviceClient {
public:
    explicit DeviceClient(std::shared_ptr<DeviceTurns> turns);
    DeviceClient(const DeviceClient&) = delete;
    DeviceClient& operator=(const DeviceClient&) = delete;
    ~DeviceClient(); ///< leaves the schedule; clients that waited for this one continue

    [[nodiscard]] const std::shared_ptr<DeviceTurns>& turns() const { return turns_; }

    /// Whether begin_step() would return at once.
    [[nodiscard]] bool has_turn();

    /// Blocks until it is the client's turn, and starts a step.
    void begin_step();

    /// Ends a step: see DeviceSchedule::end().
    void end_step(double device_ms);

private:
    std::shared_ptr<DeviceTurns> turns_;
    DeviceSchedule::ClientId id_ = 0;
};

} // namespace etna::runtime
