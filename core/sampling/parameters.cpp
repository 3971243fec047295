#include "core/sampling/parameters.hpp"

#include <array>
#include <limits>

#include <fmt/format.h>

namespace etna::sampling {
namespace {

constexpr float float_max = std::numeric_limits<float>::max();

enum class LowerBound : uint8_t { inclusive, exclusive };

struct Range {
    const char* name;
    float Parameters::* value;
    float min;
    float max;
    const char* text;
    LowerBound lower = LowerBound::inclusive;
};

constexpr std::array<Range, 12> ranges = {{
    {"temperature", &Parameters::temperature, 0, float_max, "[0, infinity)"},
    {"top_p", &Parameters::top_p, 0, 1, "(0, 1]", LowerBound::exclusive},
    {"min_p", &Parameters::min_p, 0, 1, "[0, 1]"},
    {"typical_p", &Parameters::typical_p, 0, 1, "(0, 1]", LowerBound::exclusive},
    {"top_n_sigma", &Parameters::top_n_sigma, 0, float_max, "[0, infinity)"},
    {"xtc_probability", &Parameters::xtc_probability, 0, 1, "[0, 1]"},
    {"xtc_threshold", &Parameters::xtc_threshold, 0, 1, "[0, 1]"},
    {"repetition_penalty", &Parameters::repetition_penalty, 0, penalty_max, "(0, 100]",
     LowerBound::exclusive},
    {"presence_penalty", &Parameters::presence_penalty, -penalty_max, penalty_max, "[-100, 100]"},
    {"frequency_penalty", &Parameters::frequency_penalty, -penalty_max, penalty_max, "[-100, 100]"},
    {"dry_multiplier", &Parameters::dry_multiplier, 0, penalty_max, "[0, 100]"},
    {"dry_base", &Parameters::dry_base, 1, penalty_max, "[1, 100]"},
}};

Status check(const Parameters& parameters, const Range& range) {
    const float value = parameters.*range.value;
    const bool is_above = range.lower == LowerBound::exclusive ? value > range.min : value >= range.min;
    if (is_above && value <= range.max) // NaN fails both
        return {};
    return invalid_argument(fmt::format("{} is {}, outside {}", range.name, value, range.text),
                            fmt::format("choose {} from {}", range.name, range.text));
}

} // namespace

Status check(const Parameters& parameters) {
    for (const Range& range : ranges)
        ETNA_CHECK(check(parameters, range));
    if (parameters.dry_allowed_length == 0)
        return invalid_argument("dry_allowed_length is 0", "choose dry_allowed_length from 1 on");
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
