#include "cli/options/sampling_options.hpp"

#include "cli/options/parsed.hpp"
#include "cli/terminal/quote.hpp"
#include "core/generate/sampling_options.hpp"

#include <cmath>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

Status read_filters(const OptionValues& values, generate::SamplingOverrides& sampling) {
    ETNA_TRY(sampling.temperature, values.number("temp"));
    ETNA_TRY(sampling.top_k, values.integer("top-k"));
    ETNA_TRY(sampling.top_p, values.number("top-p"));
    ETNA_TRY(sampling.min_p, values.number("min-p"));
    ETNA_TRY(sampling.typical_p, values.number("typical-p"));
    ETNA_TRY(sampling.top_n_sigma, values.number("top-n-sigma"));
    ETNA_TRY(sampling.xtc_probability, values.number("xtc-probability"));
    ETNA_TRY(sampling.xtc_threshold, values.number("xtc-threshold"));
    ETNA_TRY(sampling.min_keep, values.integer("min-keep"));
    return {};
}

/// Reads a penalty window; -1 is the whole history.
Result<std::optional<uint32_t>> read_window(const OptionValues& values, std::string_view name) {
    ETNA_TRY(const std::optional<int32_t> tokens, values.signed_integer(name));
    if (!tokens)
        return std::optional<uint32_t>();
    return std::optional(*tokens < 0 ? sampling::whole_history : static_cast<uint32_t>(*tokens));
}

Status read_penalties(const OptionValues& values, generate::SamplingOverrides& sampling) {
    ETNA_TRY(sampling.repetition_penalty, values.number("repeat-penalty"));
    ETNA_TRY(sampling.repetition_window_tokens, read_window(values, "repeat-last-n"));
    ETNA_TRY(sampling.presence_penalty, values.number("presence-penalty"));
    ETNA_TRY(sampling.presence_window_tokens, read_window(values, "presence-last-n"));
    ETNA_TRY(sampling.frequency_penalty, values.number("frequency-penalty"));
    ETNA_TRY(sampling.frequency_window_tokens, read_window(values, "frequency-last-n"));
    return {};
}

Status read_dry(const OptionValues& values, SamplingOptions& options) {
    ETNA_TRY(options.overrides.dry_multiplier, values.number("dry-multiplier"));
    ETNA_TRY(options.overrides.dry_base, values.number("dry-base"));
    ETNA_TRY(options.overrides.dry_allowed_length, values.integer("dry-allowed-length"));
    ETNA_TRY(options.overrides.dry_window_tokens, read_window(values, "dry-penalty-last-n"));
    for (const TypedValue& breaker : values.texts("dry-sequence-breaker")) {
        if (!options.dry_breakers)
            options.dry_breakers.emplace();
        if (breaker.text.empty() || breaker.text.size() > generate::dry_breaker_bytes_max) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{}: a sequence breaker has {} bytes, outside 1 to {}", breaker.origin,
                                     breaker.text.size(), generate::dry_breaker_bytes_max)};
        }
        if (breaker.text != "none")
            options.dry_breakers->push_back(breaker.text);
    }
    return {};
}

/// Parses "15043=-2.5" or "13=-inf"; "15043+1" and "15043-1" are llama.cpp's syntax.
std::optional<sampling::LogitBias> parsed_bias(std::string_view text) {
    const std::size_t mark = text.find_first_of("=+-");
    if (mark == std::string_view::npos)
        return std::nullopt;
    const std::string_view number = text.substr(text[mark] == '-' ? mark : mark + 1);
    const auto token = parsed<TokenId>(text.substr(0, mark));
    const auto bias = parsed<float>(number);
    if (!token || !bias || (!std::isfinite(*bias) && number != "-inf"))
        return std::nullopt;
    return sampling::LogitBias{*token, *bias};
}

Status read_biases(const OptionValues& values, SamplingOptions& options) {
    for (const TypedValue& value : values.texts("logit-bias")) {
        const auto bias = parsed_bias(value.text);
        if (!bias) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{}: {} is not ID=BIAS", value.origin, backquoted(value.text)),
                         "write a token's id and a number, as in 15043=-2.5, or 15043=-inf to ban it"};
        }
        options.logit_bias.push_back(*bias);
    }
    return {};
}

} // namespace

Result<SamplingOptions> read_sampling(const OptionValues& values) {
    SamplingOptions options;
    ETNA_CHECK(read_filters(values, options.overrides));
    ETNA_CHECK(read_penalties(values, options.overrides));
    ETNA_CHECK(read_dry(values, options));
    ETNA_CHECK(read_biases(values, options));
    ETNA_TRY(options.seed, values.long_integer("seed"));
    if (options.seed == -1)
        options.seed.reset();
    return options;
}

} // namespace etna::cli
