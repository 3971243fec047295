#include "cli/terminal/loading_bar.hpp"

#include "core/base/bytes.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace etna::cli {

void LoadingBar::show(uint64_t done_bytes, uint64_t total_bytes) {
    constexpr auto show_after = std::chrono::seconds(1);
    constexpr auto between_drawings = std::chrono::milliseconds(100);
    constexpr double width = 30;
    const auto now = Clock::now();
    if (now - start_ < show_after || now - drawn_ < between_drawings || total_bytes == 0)
        return;
    drawn_ = now;
    const double part = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    const auto filled = static_cast<std::size_t>(part * width);
    const auto mebibytes = [](uint64_t bytes) {
        return static_cast<double>(bytes) / static_cast<double>(mebibyte);
    };
    diagnostics_->status(fmt::format("loading [{}{}] {:3.0f} % of {:.0f} MiB", std::string(filled, '#'),
                                     std::string(static_cast<std::size_t>(width) - filled, '.'), part * 100,
                                     mebibytes(total_bytes)));
}

} // namespace etna::cli
