#include "core/generate/defaults.hpp"

#include "core/base/log.hpp"

#include <chrono>
#include <string_view>

#include <fmt/format.h>
#include <sys/random.h>

namespace etna::generate {
namespace {

struct Range {
    double min;
    double max;
};

/// The number under `key`, when it lies in the range.
std::optional<double> recommended(const gguf::File& file, std::string_view key, Range range) {
    const auto value = file.number(key);
    if (!value) {
        if (file.find(key) != nullptr)
            log(LogLevel::warning, fmt::format("{}: ignoring {}, which is not a number", file.name(), key));
        return std::nullopt;
    }
    if (!(*value >= range.min && *value <= range.max)) { // NaN included
        log(LogLevel::warning,
            fmt::format("{}: ignoring {} = {}, which is out of range", file.name(), key, *value));
        return std::nullopt;
    }
    return value;
}

} // namespace

SamplingWishes recommended_sampling(const gguf::File& file) {
    constexpr double temperature_max = 100;
    constexpr double top_k_max = 1 << 30;
    constexpr double top_p_min = 1e-6;
    constexpr double penalty_min = 1e-3;
    constexpr double penalty_max = 100;
    constexpr double window_max = 1 << 30;
    SamplingWishes wishes;
    if (const auto value = recommended(file, "general.sampling.temp", {0, temperature_max}))
        wishes.temperature = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.top_k", {0, top_k_max}))
        wishes.top_k = static_cast<uint32_t>(*value);
    if (const auto value = recommended(file, "general.sampling.top_p", {top_p_min, 1}))
        wishes.top_p = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.min_p", {0, 1}))
        wishes.min_p = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.xtc_probability", {0, 1}))
        wishes.xtc_probability = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.xtc_threshold", {0, 1}))
        wishes.xtc_threshold = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.penalty_repeat", {penalty_min, penalty_max}))
        wishes.repetition_penalty = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.penalty_last_n", {-1, window_max})) {
        wishes.repetition_window_tokens =
            *value < 0 ? sampling::whole_history : static_cast<uint32_t>(*value);
    }
    return wishes;
}

sampling::Parameters with_wishes(sampling::Parameters defaults, const SamplingWishes& wishes) {
    const auto put = [](auto& value, const auto& wish) { value = wish.value_or(value); };
    put(defaults.temperature, wishes.temperature);
    put(defaults.top_k, wishes.top_k);
    put(defaults.top_p, wishes.top_p);
    put(defaults.min_p, wishes.min_p);
    put(defaults.typical_p, wishes.typical_p);
    put(defaults.top_n_sigma, wishes.top_n_sigma);
    put(defaults.xtc_probability, wishes.xtc_probability);
    put(defaults.xtc_threshold, wishes.xtc_threshold);
    put(defaults.min_keep, wishes.min_keep);
    put(defaults.repetition_penalty, wishes.repetition_penalty);
    put(defaults.repetition_window_tokens, wishes.repetition_window_tokens);
    put(defaults.presence_penalty, wishes.presence_penalty);
    put(defaults.presence_window_tokens, wishes.presence_window_tokens);
    put(defaults.frequency_penalty, wishes.frequency_penalty);
    put(defaults.frequency_window_tokens, wishes.frequency_window_tokens);
    put(defaults.dry_multiplier, wishes.dry_multiplier);
    put(defaults.dry_base, wishes.dry_base);
    put(defaults.dry_allowed_length, wishes.dry_allowed_length);
    put(defaults.dry_window_tokens, wishes.dry_window_tokens);
    return defaults;
}

uint32_t random_seed() {
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
        return seed;
    return static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

} // namespace etna::generate
