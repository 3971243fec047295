#include "core/sampling/parameters.hpp"

#include "core/sampling/parameter_table.hpp"

#include <limits>
#include <string>

#include <fmt/format.h>

namespace etna::sampling {
namespace {

/// "(0, 1]".
std::string interval(const Range& range) {
    const std::string end = range.max >= std::numeric_limits<float>::max()
                                ? "infinity)"
                                : fmt::format("{}{}", range.max, range.at_max == Edge::included ? ']' : ')');
    return fmt::format("{}{}, {}", range.at_min == Edge::included ? '[' : '(', range.min, end);
}

Error out_of_range(const Parameter& parameter, double value) {
    if (parameter.unit == Unit::number) {
        const std::string values = interval(parameter.range);
        return invalid_argument(
            fmt::format("{} is {}, outside {}", parameter.name, static_cast<float>(value), values),
            fmt::format("choose {} from {}", parameter.name, values));
    }
    return invalid_argument(fmt::format("{} is {}", parameter.name, value),
                            fmt::format("choose {} from {} on", parameter.name, parameter.range.min));
}

} // namespace

Status check(const Parameters& parameters) {
    for (const Parameter& parameter : parameter_table()) {
        const double value = value_of(parameters, parameter);
        if (!parameter.range.contains(value))
            return out_of_range(parameter, value);
    }
    return {};
}

bool changes_logits(const Parameters& parameters) {
    return (parameters.repetition_penalty != 1 && parameters.repetition_window_tokens > 0) ||
           (parameters.presence_penalty != 0 && parameters.presence_window_tokens > 0) ||
           (parameters.frequency_penalty != 0 && parameters.frequency_window_tokens > 0) ||
           (parameters.dry_multiplier != 0 && parameters.dry_window_tokens > 0);
}

bool is_plain(const Parameters& parameters) {
    if (changes_logits(parameters))
        return false;
    return parameters.temperature == 0 || (parameters.typical_p == 1 && parameters.top_n_sigma == 0 &&
                                           parameters.xtc_probability == 0 && parameters.min_keep <= 1);
}

} // namespace etna::sampling
