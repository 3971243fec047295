#include "core/generate/sampling_options.hpp"

#include "core/base/log.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/random.h>

namespace etna::generate {
namespace {

struct Range {
    double min;
    double max;
};

constexpr double temperature_max = 100;
constexpr double count_max = 1 << 30;
constexpr double top_p_min = 1e-6;
constexpr double penalty_min = 1e-3;
constexpr double penalty_max = 100;

constexpr Range temperatures = {0, temperature_max};
constexpr Range top_ks = {0, count_max};
constexpr Range top_ps = {top_p_min, 1};
constexpr Range shares = {0, 1};
constexpr Range penalties = {penalty_min, penalty_max};
constexpr Range windows = {-1, count_max};

/// Returns the value if it is in range.
std::optional<double> checked(std::string_view file, std::string_view key, std::optional<double> value,
                              Range range) {
    if (!value || (*value >= range.min && *value <= range.max)) // NaN does not
        return value;
    log(LogLevel::warning, fmt::format("{}: ignoring {} = {}, which is out of range", file, key, *value));
    return std::nullopt;
}

/// Returns the number at `key` if it is in range.
std::optional<double> recommended(const gguf::File& file, std::string_view key, Range range) {
    const auto value = file.number(key);
    if (!value && file.find(key) != nullptr)
        log(LogLevel::warning, fmt::format("{}: ignoring {}, which is not a number", file.name(), key));
    return checked(file.name(), key, value, range);
}

template <class T>
void put(std::optional<T>& parameter, std::optional<double> value) {
    if (value)
        parameter = static_cast<T>(*value);
}

using Tokens = std::vector<TokenId>;

Status check_breakers(std::span<const std::string> breakers) {
    if (breakers.size() > dry_breakers_max) {
        return invalid_argument(
            fmt::format("{} sequence breakers; the maximum is {}", breakers.size(), dry_breakers_max));
    }
    for (const std::string& breaker : breakers) {
        if (breaker.empty() || breaker.size() > dry_breaker_bytes_max) {
            return invalid_argument(fmt::format("a sequence breaker has {} bytes; the range is 1 to {}",
                                                breaker.size(), dry_breaker_bytes_max));
        }
    }
    return {};
}

/// Returns the tokens of a text that continues another one. SentencePiece prepends a space at the start of a
/// text, but not after a line end, which merges with nothing.
Result<Tokens> encode_continuation(const text::Tokenizer& tokenizer, std::string_view text) {
    const text::EncodeOptions options{.special = text::SpecialTokens::literal, .bos = text::AddBos::never};
    if (!tokenizer.strips_leading_space())
        return tokenizer.encode(text, options);
    ETNA_TRY(const Tokens line_end, tokenizer.encode("\n", options));
    ETNA_TRY(Tokens tokens, tokenizer.encode(fmt::format("\n{}", text), options));
    const std::size_t prefix = std::min(line_end.size(), tokens.size());
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prefix));
    return tokens;
}

Status append_sequences(const text::Tokenizer& tokenizer, std::string_view breaker,
                        std::vector<Tokens>& sequences) {
    std::vector<Tokens> suffixes(breaker.size()); // [k]: tokens of the breaker without its first k bytes
    for (std::size_t k = 1; k < breaker.size(); ++k) {
        ETNA_TRY(suffixes[k], encode_continuation(tokenizer, breaker.substr(k)));
    }
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        if (tokenizer.type(token) == text::TokenType::control)
            continue;
        const std::string_view text = tokenizer.bytes(token);
        if (text.find(breaker) != std::string_view::npos) {
            sequences.push_back({token});
            continue;
        }
        for (std::size_t k = 1; k < breaker.size(); ++k) {
            if (!text.ends_with(breaker.substr(0, k)))
                continue;
            Tokens& sequence = sequences.emplace_back(Tokens{token});
            sequence.insert(sequence.end(), suffixes[k].begin(), suffixes[k].end());
        }
    }
    return {};
}

/// Replaces the members that `overrides` sets. Target: sampling::Parameters, or SamplingOverrides.
template <class Target>
void replace(Target& target, const SamplingOverrides& overrides) {
    const auto take = [](auto& value, const auto& parameter) {
        if (parameter)
            value = *parameter;
    };
    take(target.temperature, overrides.temperature);
    take(target.top_k, overrides.top_k);
    take(target.top_p, overrides.top_p);
    take(target.min_p, overrides.min_p);
    take(target.typical_p, overrides.typical_p);
    take(target.top_n_sigma, overrides.top_n_sigma);
    take(target.xtc_probability, overrides.xtc_probability);
    take(target.xtc_threshold, overrides.xtc_threshold);
    take(target.min_keep, overrides.min_keep);
    take(target.repetition_penalty, overrides.repetition_penalty);
    take(target.repetition_window_tokens, overrides.repetition_window_tokens);
    take(target.presence_penalty, overrides.presence_penalty);
    take(target.presence_window_tokens, overrides.presence_window_tokens);
    take(target.frequency_penalty, overrides.frequency_penalty);
    take(target.frequency_window_tokens, overrides.frequency_window_tokens);
    take(target.dry_multiplier, overrides.dry_multiplier);
    take(target.dry_base, overrides.dry_base);
    take(target.dry_allowed_length, overrides.dry_allowed_length);
    take(target.dry_window_tokens, overrides.dry_window_tokens);
}

} // namespace

SamplingOverrides recommended_sampling(const gguf::File& file) {
    SamplingOverrides overrides;
    put(overrides.temperature, recommended(file, "general.sampling.temp", temperatures));
    put(overrides.top_k, recommended(file, "general.sampling.top_k", top_ks));
    put(overrides.top_p, recommended(file, "general.sampling.top_p", top_ps));
    put(overrides.min_p, recommended(file, "general.sampling.min_p", shares));
    put(overrides.xtc_probability, recommended(file, "general.sampling.xtc_probability", shares));
    put(overrides.xtc_threshold, recommended(file, "general.sampling.xtc_threshold", shares));
    put(overrides.repetition_penalty, recommended(file, "general.sampling.penalty_repeat", penalties));
    if (const auto value = recommended(file, "general.sampling.penalty_last_n", windows)) {
        overrides.repetition_window_tokens =
            *value < 0 ? sampling::full_history : static_cast<uint32_t>(*value);
    }
    return overrides;
}

void apply(const store::GenerationConfig& config, SamplingOverrides& overrides) {
    constexpr std::string_view file = store::generation_config_name;
    put(overrides.temperature, checked(file, "temperature", config.temperature, temperatures));
    put(overrides.top_k, checked(file, "top_k", config.top_k, top_ks));
    put(overrides.top_p, checked(file, "top_p", config.top_p, top_ps));
    put(overrides.min_p, checked(file, "min_p", config.min_p, shares));
    if (config.repetition_penalty != 1.0) { // 1 means no penalty, so it is not a recommendation
        put(overrides.repetition_penalty,
            checked(file, "repetition_penalty", config.repetition_penalty, penalties));
    }
}

sampling::Parameters with_overrides(sampling::Parameters defaults, const SamplingOverrides& overrides) {
    replace(defaults, overrides);
    return defaults;
}

SamplingOverrides over(const SamplingOverrides& overrides, SamplingOverrides others) {
    replace(others, overrides);
    return others;
}

uint32_t random_seed() {
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
        return seed;
    return static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

int64_t choice_seed(int64_t first, std::size_t index) {
    return static_cast<int64_t>(static_cast<uint64_t>(first) + index);
}

uint32_t sampler_seed(int64_t seed) {
    constexpr uint32_t half_bits = 32;
    constexpr uint32_t golden = 0x9E3779B1; // 2^32 / golden ratio, odd: upper halves stay distinct
    const auto bits = static_cast<uint64_t>(seed);
    return static_cast<uint32_t>(bits) + static_cast<uint32_t>(bits >> half_bits) * golden;
}

std::vector<std::string> default_dry_breakers() {
    return {"\n", ":", "\"", "*"};
}

Result<sampling::SequenceBreakers> encode_dry_breakers(const text::Tokenizer& tokenizer,
                                                       std::span<const std::string> breakers) {
    ETNA_CHECK(check_breakers(breakers));
    std::vector<Tokens> sequences;
    for (const std::string& breaker : breakers)
        ETNA_CHECK(append_sequences(tokenizer, breaker, sequences));
    return sampling::SequenceBreakers::create(std::move(sequences));
}

} // namespace etna::generate
