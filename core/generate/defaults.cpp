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

sampling::Parameters sampling_defaults(const gguf::File& file) {
    constexpr double temperature_max = 100;
    constexpr double top_k_max = 1 << 30;
    constexpr double top_p_min = 1e-6;
    sampling::Parameters parameters;
    if (const auto value = recommended(file, "general.sampling.temp", {0, temperature_max}))
        parameters.temperature = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.top_k", {0, top_k_max}))
        parameters.top_k = static_cast<uint32_t>(*value);
    if (const auto value = recommended(file, "general.sampling.top_p", {top_p_min, 1}))
        parameters.top_p = static_cast<float>(*value);
    if (const auto value = recommended(file, "general.sampling.min_p", {0, 1}))
        parameters.min_p = static_cast<float>(*value);
    return parameters;
}

sampling::Parameters with_wishes(sampling::Parameters defaults, const SamplingWishes& wishes) {
    defaults.temperature = wishes.temperature.value_or(defaults.temperature);
    defaults.top_k = wishes.top_k.value_or(defaults.top_k);
    defaults.top_p = wishes.top_p.value_or(defaults.top_p);
    defaults.min_p = wishes.min_p.value_or(defaults.min_p);
    return defaults;
}

uint32_t random_seed() {
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
        return seed;
    return static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

} // namespace etna::generate
