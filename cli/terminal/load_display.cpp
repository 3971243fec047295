#include "cli/terminal/load_display.hpp"

#include "cli/terminal/progress_bar.hpp"
#include "core/base/bytes.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

using runtime::LoadProgress;

std::string_view label_of(LoadProgress::Phase phase) {
    switch (phase) {
    case LoadProgress::Phase::checking_kernels:
        return "checking kernels";
    case LoadProgress::Phase::reading_weights:
        return "loading";
    case LoadProgress::Phase::compiling_kernels:
        break;
    }
    return "compiling kernels";
}

double mebibytes(uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(mebibyte);
}

std::string count_of(const LoadProgress& progress) {
    if (progress.phase != LoadProgress::Phase::reading_weights)
        return fmt::format("{} of {}", progress.done, progress.total);
    return fmt::format("{:.0f} % of {:.0f} MiB", fraction_of(progress) * 100, mebibytes(progress.total));
}

} // namespace

double fraction_of(const LoadProgress& progress) {
    if (progress.total == 0)
        return 0;
    return std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.total));
}

LoadDisplay::LoadDisplay(Diagnostics& diagnostics) : diagnostics_(&diagnostics) {
    if (diagnostics.shows_status())
        drawing_ = std::thread([this] { draw_until_end(); });
}

LoadDisplay::~LoadDisplay() {
    if (!drawing_.joinable())
        return;
    {
        const std::scoped_lock lock(mutex_);
        has_ended_ = true;
    }
    ended_.notify_one();
    drawing_.join();
    diagnostics_->status({});
}

void LoadDisplay::show(const LoadProgress& progress) {
    const std::scoped_lock lock(mutex_);
    if (!latest_ || latest_->phase != progress.phase) {
        phase_start_ = Clock::now();
        phase_start_done_ = progress.done;
    }
    latest_ = progress;
}

void LoadDisplay::draw_until_end() {
    constexpr auto show_after = std::chrono::seconds(1);
    constexpr auto between_drawings = std::chrono::milliseconds(100);
    std::unique_lock lock(mutex_);
    const auto has_ended = [this] { return has_ended_; };
    for (auto pause = std::chrono::milliseconds(show_after); !ended_.wait_for(lock, pause, has_ended);
         pause = between_drawings) {
        if (latest_)
            diagnostics_->status(line());
    }
}

/// Precondition: `latest_` is set.
std::string LoadDisplay::line() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - phase_start_).count();
    std::string detail = count_of(*latest_);
    if (latest_->phase == LoadProgress::Phase::reading_weights && seconds > 0)
        detail += fmt::format(", {:.0f} MiB/s", mebibytes(latest_->done - phase_start_done_) / seconds);
    return progress_bar(label_of(latest_->phase), fraction_of(*latest_), detail,
                        diagnostics_->status_columns());
}

void LoadLog::show(const LoadProgress& progress) {
    constexpr auto between = std::chrono::seconds(5);
    const auto now = std::chrono::steady_clock::now();
    const bool begins_check =
        progress.phase == LoadProgress::Phase::checking_kernels && !std::exchange(has_reported_check_, true);
    if (!begins_check && now - reported_ < between)
        return;
    reported_ = now;
    report_(fmt::format("{}: {}, {}", model_, label_of(progress.phase), count_of(progress)));
}

} // namespace etna::cli
