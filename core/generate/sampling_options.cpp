#include "core/generate/sampling_options.hpp"

#include "core/base/log.hpp"
#include "core/sampling/parameter_table.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/random.h>

namespace etna::generate {
namespace {

/// Sets a parameter to a file's recommendation if it is in range.
void recommend(std::string_view file, const sampling::Parameter& parameter, const sampling::Offer& offer,
               std::optional<double> value, SamplingOverrides& overrides) {
    if (!value || value == offer.absence)
        return;
    if (offer.range.contains(*value))
        return sampling::set(overrides, parameter, *value);
    log(LogLevel::warning,
        fmt::format("{}: ignoring {} = {}, which is out of range", file, offer.name, *value));
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

} // namespace

SamplingOverrides recommended_sampling(const gguf::File& file) {
    SamplingOverrides overrides;
    for (const sampling::Parameter& parameter : sampling::parameter_table()) {
        const std::string_view key = parameter.gguf.name;
        if (key.empty())
            continue;
        const auto value = file.number(key);
        if (!value && file.find(key) != nullptr)
            log(LogLevel::warning, fmt::format("{}: ignoring {}, which is not a number", file.name(), key));
        recommend(file.name(), parameter, parameter.gguf, value, overrides);
    }
    return overrides;
}

void apply(const store::GenerationConfig& config, SamplingOverrides& overrides) {
    for (const store::GenerationConfigMember& member : store::generation_config_members) {
        const auto* const parameter =
            sampling::find_parameter(&sampling::Parameter::generation_config, member.name);
        if (parameter != nullptr)
            recommend(store::generation_config_name, *parameter, parameter->generation_config,
                      config.*member.value, overrides);
    }
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
