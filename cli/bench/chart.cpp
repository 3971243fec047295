#include "cli/bench/chart.hpp"

#include "cli/bench/timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Of Okabe and Ito, "Color Universal Design": apart for colour-blind readers too.
constexpr std::array<std::string_view, 7> colours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#d55e00", "#000000"};

std::string_view colour_of(std::size_t index) {
    return colours[index % colours.size()];
}

/// Escapes text for XML content and attributes.
std::string xml(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        default:
            escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
        }
    }
    return escaped;
}

std::string picture(double width, double height, std::string_view content) {
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                       "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
                       width, height, content);
}

std::string label(double x, double y, std::string_view anchor, std::string_view text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                       xml(text));
}

/// A point of a line: the index of its value on the x axis, and its height.
struct ChartPoint {
    std::size_t index = 0;
    double value = 0;
};

struct ChartLine {
    std::string name;
    std::vector<ChartPoint> points;
};

/// One diagram of a chart.
struct Panel {
    std::string title;
    std::string x_name;
    std::vector<uint32_t> x_values; ///< values of the x axis, ascending, at equal distances
    std::vector<ChartLine> lines;
};

constexpr double panel_width = 460;
constexpr double panel_height = 300;
constexpr double margin_left = 64;
constexpr double margin_right = 96; // names of the lines
constexpr double margin_top = 32;
constexpr double margin_bottom = 44;

/// Returns 1, 2 or 5 times a power of ten: at least `value`.
double nice_limit(double value) {
    if (value <= 0)
        return 1;
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= value)
            return factor * power;
    }
    return 10 * power;
}

/// Draws a panel with its corner at `left`, `top`.
class PanelDrawing {
public:
    PanelDrawing(const Panel& panel, double left, double top) : panel_(panel), left_(left), top_(top) {
        double highest = 0;
        for (const ChartLine& line : panel.lines) {
            for (const ChartPoint& point : line.points)
                highest = std::max(highest, point.value);
        }
        limit_ = nice_limit(highest);
    }

    [[nodiscard]] std::string svg() const {
        std::string text = label(left_ + margin_left, top_ + margin_top - 12, "start", panel_.title);
        text += axes();
        for (std::size_t i = 0; i < panel_.lines.size(); ++i)
            text += line(panel_.lines[i], colour_of(i));
        return text;
    }

private:
    [[nodiscard]] double x_of(std::size_t index) const {
        const double inner = panel_width - margin_left - margin_right;
        const double share = panel_.x_values.size() < 2 ? 0.5
                                                        : static_cast<double>(index) /
                                                              static_cast<double>(panel_.x_values.size() - 1);
        return left_ + margin_left + share * inner;
    }
    [[nodiscard]] double y_of(double value) const {
        const double inner = panel_height - margin_top - margin_bottom;
        return top_ + margin_top + inner * (1 - value / limit_);
    }

    [[nodiscard]] std::string axes() const {
        constexpr int ticks = 4;
        std::string text;
        const double right = left_ + panel_width - margin_right;
        for (int tick = 0; tick <= ticks; ++tick) {
            const double value = limit_ * tick / ticks;
            text += fmt::format(
                "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n",
                left_ + margin_left, right, y_of(value), y_of(value));
            text += label(left_ + margin_left - 6, y_of(value) + 4, "end", fmt::format("{:g}", value));
        }
        const double below = top_ + panel_height - margin_bottom + 16;
        for (std::size_t index = 0; index < panel_.x_values.size(); ++index)
            text += label(x_of(index), below, "middle", fmt::format("{}", panel_.x_values[index]));
        return text + label((left_ + margin_left + right) / 2, below + 16, "middle", panel_.x_name);
    }

    [[nodiscard]] std::string line(const ChartLine& line, std::string_view colour) const {
        std::string path;
        std::string dots;
        for (const ChartPoint& point : line.points) {
            const double x = x_of(point.index);
            const double y = y_of(point.value);
            path += fmt::format("{:.1f},{:.1f} ", x, y);
            dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {:.1f} "
                                "tok/s</title></circle>\n",
                                x, y, colour, xml(line.name), point.value);
        }
        if (line.points.empty())
            return {};
        return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", path, colour) + dots +
               label(x_of(line.points.back().index) + 8, y_of(line.points.back().value) + 4, "start",
                     line.name);
    }

    const Panel& panel_;
    double left_;
    double top_;
    double limit_ = 1;
};

std::vector<uint32_t> sorted_values(const BenchReport& report, uint32_t BenchRow::* member) {
    std::vector<uint32_t> values;
    for (const BenchRow& row : report.rows)
        values.push_back(row.*member);
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

/// Returns the figure over one member of the rows, with a line for each value of the other.
Panel panel_of(const BenchReport& report, std::string_view title, Spread BenchRow::* figure,
               bool over_depth) {
    const auto x = over_depth ? &BenchRow::depth : &BenchRow::batch;
    const auto other = over_depth ? &BenchRow::batch : &BenchRow::depth;
    Panel panel = {.title = fmt::format("{}, tok/s", title),
                   .x_name = over_depth ? "depth (tokens in the cache)" : "batch (sequences together)",
                   .x_values = sorted_values(report, x),
                   .lines = {}};
    for (const uint32_t value : sorted_values(report, other)) {
        ChartLine line = {.name = fmt::format("{} {}", over_depth ? "batch" : "depth", value), .points = {}};
        for (const BenchRow& row : report.rows) {
            const auto index = std::ranges::find(panel.x_values, row.*x) - panel.x_values.begin();
            if (row.*other == value)
                line.points.push_back({static_cast<std::size_t>(index), (row.*figure).median});
        }
        std::ranges::sort(line.points, {}, &ChartPoint::index);
        panel.lines.push_back(std::move(line));
    }
    return panel;
}

/// Returns the label's regions from the outermost to number `depth`; empty if it lies in fewer.
std::string_view regions_of(std::string_view label, std::size_t depth) {
    std::size_t end = label.find('/');
    for (; depth > 0 && end != std::string_view::npos; --depth)
        end = label.find('/', end + 1);
    return end == std::string_view::npos ? std::string_view() : label.substr(0, end);
}

/// The picture of a step: regions above the dispatches in them, and the kernels' totals below.
class TimelineDrawing {
public:
    explicit TimelineDrawing(std::span<const vk::Timing> timings)
        : timings_(timings), totals_(kernel_totals(timings)) {
        for (const vk::Timing& timing : timings) {
            end_us_ = std::max(end_us_, end_of(timing));
            levels_ = std::max(levels_, depth_of(timing));
        }
    }

    [[nodiscard]] std::string svg(std::string_view title) const {
        std::string content = label(left, 22, "start", fmt::format("{}: {:.2f} ms", title, end_us_ / 1e3));
        for (std::size_t depth = 0; depth < levels_; ++depth)
            content += regions(depth);
        for (const vk::Timing& timing : timings_) {
            const std::string_view kernel =
                std::string_view(timing.label).substr(timing.label.rfind('/') + 1);
            const auto total = std::ranges::find(totals_, kernel, &KernelTotal::kernel) - totals_.begin();
            content += bar(timing.start_us, end_of(timing), depth_of(timing),
                           colour_of(static_cast<std::size_t>(total)), timing.label);
        }
        const double legend = top + row * static_cast<double>(levels_ + 1) + 24;
        for (std::size_t i = 0; i < totals_.size(); ++i)
            content += total(i, legend + 18 * static_cast<double>(i));
        return picture(width, legend + 18 * static_cast<double>(totals_.size()), content);
    }

private:
    static constexpr double width = 1400;
    static constexpr double left = 16;
    static constexpr double top = 36;
    static constexpr double row = 24;

    static double end_of(const vk::Timing& timing) { return timing.start_us + timing.microseconds; }
    static std::size_t depth_of(const vk::Timing& timing) {
        return static_cast<std::size_t>(std::ranges::count(timing.label, '/'));
    }

    [[nodiscard]] std::string bar(double start_us, double stop_us, std::size_t depth, std::string_view colour,
                                  std::string_view name) const {
        const double scale = end_us_ > 0 ? (width - 2 * left) / end_us_ : 0;
        return fmt::format("<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"22\" fill=\"{}\" "
                           "stroke=\"#fff\" stroke-width=\"0.3\"><title>{}: {:.1f} us</title></rect>\n",
                           left + start_us * scale, top + row * static_cast<double>(depth),
                           std::max((stop_us - start_us) * scale, 0.3), colour, xml(name),
                           stop_us - start_us);
    }

    /// Draws the regions of one level: neighbouring dispatches in the same one are one bar.
    [[nodiscard]] std::string regions(std::size_t depth) const {
        std::string text;
        for (std::size_t begin = 0, end = 0; begin < timings_.size(); begin = end) {
            const std::string_view region = regions_of(timings_[begin].label, depth);
            double stop_us = 0;
            for (end = begin; end < timings_.size() && regions_of(timings_[end].label, depth) == region;
                 ++end)
                stop_us = std::max(stop_us, end_of(timings_[end]));
            if (!region.empty())
                text += bar(timings_[begin].start_us, stop_us, depth, "#ccc", region);
        }
        return text;
    }

    [[nodiscard]] std::string total(std::size_t index, double y) const {
        const KernelTotal& one = totals_[index];
        return fmt::format("<rect x=\"{}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", left,
                           y - 10, colour_of(index)) +
               label(left + 18, y, "start",
                     fmt::format("{}: {} times, {:.1f} us", one.kernel, one.dispatches, one.microseconds));
    }

    std::span<const vk::Timing> timings_;
    std::vector<KernelTotal> totals_;
    double end_us_ = 0;
    std::size_t levels_ = 0; ///< of regions
};

} // namespace

std::string chart_svg(const BenchReport& report) {
    constexpr double heading = 36;
    std::string content = label(16, 22, "start", fmt::format("{} on {}", report.model, report.device));
    std::size_t number = 0;
    for (const bool is_prompt : {true, false}) {
        const std::string title =
            is_prompt ? fmt::format("prompts of {} tokens", report.prompt_tokens) : std::string("generation");
        const auto figure = is_prompt ? &BenchRow::prompt_tok_s : &BenchRow::generation_tok_s;
        for (const bool over_depth : {true, false}) {
            const Panel panel = panel_of(report, title, figure, over_depth);
            const double left = panel_width * static_cast<double>(number % 2);
            const double top = heading + panel_height * static_cast<double>(number / 2);
            content += PanelDrawing(panel, left, top).svg();
            ++number;
        }
    }
    return picture(2 * panel_width, heading + 2 * panel_height, content);
}

std::string timeline_svg(std::span<const vk::Timing> timings, std::string_view title) {
    const TimelineDrawing drawing(timings);
    return drawing.svg(title);
}

} // namespace etna::cli
