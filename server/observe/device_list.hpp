#pragma once

#include "core/runtime/devices.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

namespace etna::server {

/// Reports on the machine's devices; empty after a failure. Blocking, thread-safe.
using DeviceReporter = std::function<runtime::DeviceReports()>;

/// The reports of a DeviceReporter, which opens each device that no model has open: they are renewed when
/// they are old. Thread-safe.
class DeviceList {
public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::chrono::seconds age_max{10};        ///< while a model is loaded
    static constexpr std::chrono::seconds closed_age_max{60}; ///< while none is

    /// Returns the reports. May block for as long as `reporter`. `reporter`: empty: there are none.
    runtime::DeviceReports read(const DeviceReporter& reporter, bool is_open, Clock::time_point now);

private:
    std::mutex mutex_;
    runtime::DeviceReports reports_;
    bool was_open_ = false;
    std::optional<Clock::time_point> read_at_;
};

} // namespace etna::server
