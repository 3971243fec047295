#include "cli/options/sampling_options.hpp"

#include "cli/terminal/printable.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/sampling/parameters.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double temperature_max = 100;
constexpr double sigmas_max = 1000;
constexpr double penalty_max = sampling::penalty_max;

constexpr std::array sampling_rows = {
    Option{.name = "temp",
           .value = "T",
           .kind = Kind::number,
           .range = {0, temperature_max},
           .default_text = "the model's own, else 0.8",
           .description = "temperature; 0 always takes the likeliest token, higher values vary more",
           .brief = "temperature; 0 takes the likeliest token, higher values vary more"},
    Option{.name = "top-k",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "the model's own, else 40",
           .description = "sample from the N likeliest tokens; 0: from all"},
    Option{.name = "top-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1, LowerBound::exclusive},
           .default_text = "the model's own, else 0.95",
           .description = "sample from the likeliest tokens with a total probability of P; 1: from all"},
    Option{.name = "min-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0.05",
           .description = "drop tokens less likely than P times the likeliest"},
    Option{.name = "typical-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1, LowerBound::exclusive},
           .default_text = "1",
           .description = "sample from the most typical tokens with a total probability of P (locally "
                          "typical sampling); 1: from all"},
    Option{.name = "top-n-sigma",
           .value = "N",
           .kind = Kind::number,
           .range = {0, sigmas_max},
           .default_text = "0",
           .absence = "-1",
           .description =
               "sample from tokens with logits within N standard deviations of the largest; 0: from all"},
    Option{.name = "xtc-probability",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0",
           .description =
               "probability of dropping the top choices, except the least likely of them (XTC); 0: never"},
    Option{.name = "xtc-threshold",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0.1",
           .description = "minimum probability of a top choice; above 0.5, XTC has no effect"},
    Option{.name = "min-keep",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "0",
           .description = "minimum number of tokens that each of the filters above leaves"},
    Option{.name = "repeat-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {0, penalty_max, LowerBound::exclusive},
           .default_text = "the model's own, else 1",
           .description = "penalize tokens of the prompt and the answer; positive logits are divided by X, "
                          "others multiplied; 1: no effect"},
    Option{.name = "repeat-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "the model's own, else 64",
           .description = "window of --repeat-penalty in tokens; -1: everything"},
    Option{.name = "presence-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-penalty_max, penalty_max},
           .default_text = "0",
           .description = "subtract X from the logits of tokens that occur in the answer"},
    Option{.name = "presence-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "window of --presence-penalty in tokens of the answer; -1: everything"},
    Option{.name = "frequency-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-penalty_max, penalty_max},
           .default_text = "0",
           .description = "subtract X from a token's logit for each occurrence in the answer"},
    Option{.name = "frequency-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "window of --frequency-penalty in tokens of the answer; -1: everything"},
    Option{.name = "dry-multiplier",
           .value = "X",
           .kind = Kind::number,
           .range = {0, penalty_max},
           .default_text = "0",
           .description = "penalize tokens that would continue a repetition in the prompt or answer (DRY); "
                          "subtracts X times --dry-base to the power of the surplus length; 0: no effect"},
    Option{.name = "dry-base",
           .value = "X",
           .kind = Kind::number,
           .range = {1, penalty_max},
           .default_text = "1.75",
           .description = "growth of the DRY penalty per repeated token"},
    Option{.name = "dry-allowed-length",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .default_text = "2",
           .description = "repetition length from which the DRY penalty grows; shorter ones are free"},
    Option{.name = "dry-penalty-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "window in which DRY searches for repetitions, in tokens; -1: everything"},
    Option{.name = "dry-sequence-breaker",
           .value = "TEXT",
           .kind = Kind::text,
           .default_text = "line ends, :, \" and *",
           .description =
               "text across which DRY matches no repetition; may be repeated; `none`: no such text",
           .repeat = Repeat::collect},
    Option{.name = "logit-bias",
           .value = "ID=BIAS",
           .kind = Kind::text,
           .description = "add BIAS to the logit of the token ID, as printed by `etna tokenize`; -inf bans "
                          "the token; may be repeated",
           .repeat = Repeat::collect},
    Option{.name = "seed",
           .value = "N",
           .kind = Kind::integer,
           .range = int64_range,
           .default_text = "random",
           .absence = "-1",
           .description = "seed of the random state; the same seed and request give the same text",
           .brief = "the same seed and request give the same text"},
};

constexpr auto sampling_table = in_category(Category::sampling, sampling_rows);

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

/// Reads a penalty window; -1 is the complete history.
Result<std::optional<uint32_t>> read_window(const OptionValues& values, std::string_view name) {
    ETNA_TRY(const std::optional<int32_t> tokens, values.signed_integer(name));
    if (!tokens)
        return std::optional<uint32_t>();
    return std::optional(*tokens < 0 ? sampling::full_history : static_cast<uint32_t>(*tokens));
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
            return invalid_argument(fmt::format("{}: a sequence breaker has {} bytes, outside 1 to {}",
                                                breaker.origin, breaker.text.size(),
                                                generate::dry_breaker_bytes_max));
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
            return invalid_argument(
                fmt::format("{}: {} is not ID=BIAS", value.origin, backquoted(value.text)),
                "write a token's id and a number, as in 15043=-2.5, or 15043=-inf to ban it");
        }
        options.logit_bias.push_back(*bias);
    }
    return {};
}

} // namespace

std::span<const Option> sampling_options() {
    return sampling_table;
}

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
