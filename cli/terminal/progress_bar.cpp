#include "cli/terminal/progress_bar.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace etna::cli {

std::string progress_bar(std::string_view label, double part, std::string_view detail, uint32_t columns) {
    constexpr std::size_t width_max = 30;
    constexpr std::size_t width_min = 5;
    constexpr std::size_t frame = 4; // " [" and "] "
    const std::size_t texts = label.size() + detail.size() + frame;
    const std::size_t width = std::min(width_max, columns > texts ? columns - texts : 0);
    if (width >= width_min) {
        const auto filled = std::min(width, static_cast<std::size_t>(part * static_cast<double>(width)));
        return fmt::format("{} [{}{}] {}", label, std::string(filled, '#'), std::string(width - filled, '.'),
                           detail);
    }
    while (label.size() + 1 + detail.size() > columns && detail.find(", ") != std::string_view::npos)
        detail = detail.substr(0, detail.rfind(", "));
    return fmt::format("{} {}", label, detail).substr(0, columns);
}

} // namespace etna::cli
