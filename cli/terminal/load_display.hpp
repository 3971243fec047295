#pragma once

#include "cli/terminal/diagnostics.hpp"
#include "core/runtime/executor_factory.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace etna::cli {

/// Returns the part of a phase that is done, 0 to 1.
double fraction_of(const runtime::LoadProgress& progress);

/// Shows the progress of a load on a terminal, once the load has taken a second. A thread of its own draws,
/// because one kernel may compile for seconds without a report. Removed by the destructor.
class LoadDisplay {
public:
    /// Borrows `diagnostics`.
    explicit LoadDisplay(Diagnostics& diagnostics);
    LoadDisplay(const LoadDisplay&) = delete;
    LoadDisplay& operator=(const LoadDisplay&) = delete;
    ~LoadDisplay();

    void show(const runtime::LoadProgress& progress);

private:
    using Clock = std::chrono::steady_clock;

    void draw_until_end();
    [[nodiscard]] std::string line() const;

    Diagnostics* diagnostics_;
    std::mutex mutex_; ///< guards the members below
    std::condition_variable ended_;
    bool has_ended_ = false;
    std::optional<runtime::LoadProgress> latest_;
    Clock::time_point phase_start_;
    uint64_t phase_start_done_ = 0;
    std::thread drawing_; ///< none without a terminal
};

/// Reports the progress of a load in lines, for a server's log: when it begins to check kernels, and every
/// five seconds.
class LoadLog {
public:
    LoadLog(std::string model, std::function<void(std::string_view line)> report)
        : model_(std::move(model)), report_(std::move(report)) {}

    void show(const runtime::LoadProgress& progress);

private:
    std::string model_;
    std::function<void(std::string_view line)> report_;
    bool has_reported_check_ = false;
    std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
};

} // namespace etna::cli
