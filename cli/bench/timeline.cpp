#include "cli/bench/timeline.hpp"

#include "cli/bench/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// A dispatch's label: its regions from outside to inside, then the kernel.
std::vector<std::string_view> parts_of(std::string_view label) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t slash = label.find('/');
        parts.push_back(label.substr(0, slash));
        if (slash == std::string_view::npos)
            return parts;
        label.remove_prefix(slash + 1);
    }
}

std::string_view kernel_of(std::string_view label) {
    return label.substr(label.rfind('/') + 1);
}

double end_us(const vk::Timing& timing) {
    return timing.start_us + timing.microseconds;
}

/// A region whose dispatches are not all known yet.
struct OpenRegion {
    std::string_view name;
    double start_us = 0;
};

/// Collects the events of a step.
class Trace {
public:
    void add(const vk::Timing& timing) {
        const std::vector<std::string_view> parts = parts_of(timing.label);
        const std::size_t regions = parts.size() - 1;
        std::size_t common = 0;
        while (common < std::min(regions, open_.size()) && open_[common].name == parts[common])
            ++common;
        close(common);
        for (std::size_t i = common; i < regions; ++i)
            open_.push_back({.name = parts[i], .start_us = timing.start_us});
        add_event(parts.back(), "dispatch", timing.start_us, end_us(timing));
        end_us_ = std::max(end_us_, end_us(timing));
    }

    /// Ends the regions that are nested deeper.
    void close(std::size_t depth) {
        for (; open_.size() > depth; open_.pop_back())
            add_event(open_.back().name, "region", open_.back().start_us, end_us_);
    }

    [[nodiscard]] const Json& events() const { return events_; }

private:
    void add_event(std::string_view name, std::string_view category, double start_us, double stop_us) {
        events_.push_back({{"cat", category},
                           {"dur", stop_us - start_us},
                           {"name", name},
                           {"ph", "X"},
                           {"pid", 1},
                           {"tid", 1},
                           {"ts", start_us}});
    }

    std::vector<OpenRegion> open_;
    double end_us_ = 0; ///< of the dispatches until now
    Json events_ = Json::array();
};

} // namespace

Json chrome_trace(std::span<const vk::Timing> timings) {
    Trace trace;
    for (const vk::Timing& timing : timings)
        trace.add(timing);
    trace.close(0);
    return {{"displayTimeUnit", "ms"}, {"traceEvents", trace.events()}};
}

std::vector<KernelTotal> kernel_totals(std::span<const vk::Timing> timings) {
    std::vector<KernelTotal> totals;
    for (const vk::Timing& timing : timings) {
        const std::string_view kernel = kernel_of(timing.label);
        auto total = std::find_if(totals.begin(), totals.end(),
                                  [&](const KernelTotal& one) { return one.kernel == kernel; });
        if (total == totals.end())
            total = totals.insert(total, {.kernel = std::string(kernel)});
        ++total->dispatches;
        total->microseconds += timing.microseconds;
    }
    std::stable_sort(totals.begin(), totals.end(), [](const KernelTotal& a, const KernelTotal& b) {
        return a.microseconds > b.microseconds;
    });
    return totals;
}

std::string totals_text(std::span<const vk::Timing> timings) {
    double whole_us = 0;
    for (const vk::Timing& timing : timings)
        whole_us = std::max(whole_us, end_us(timing));
    double between_us = whole_us;
    TextTable table = {{"kernel", "dispatches", "us", "of the step"}};
    const auto add = [&](const std::string& name, const std::string& count, double microseconds) {
        table.push_back({name, count, fmt::format("{:.1f}", microseconds),
                         fmt::format("{:.1f}%", whole_us == 0 ? 0 : microseconds / whole_us * 100)});
    };
    for (const KernelTotal& total : kernel_totals(timings)) {
        add(total.kernel, fmt::format("{}", total.dispatches), total.microseconds);
        between_us -= total.microseconds;
    }
    add("between dispatches", "", std::max(between_us, 0.0)); // negative: dispatches overlapped
    add("step", fmt::format("{}", timings.size()), whole_us);
    return aligned(table, FirstColumn::left);
}

} // namespace etna::cli
