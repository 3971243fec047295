#include "cli/options/sampling_options.hpp"

#include "cli/terminal/printable.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/sampling/parameter_table.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The rows besides those of the table of parameters.
constexpr std::array other_rows = {
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

constexpr auto other_options = in_category(Category::sampling, other_rows);

/// Returns the default of a parameter for the help.
std::string default_text(const sampling::Parameter& parameter) {
    const std::string_view origin = parameter.gguf.name.empty() ? "" : "the model's own, else ";
    const double value = sampling::value_of({}, parameter);
    return parameter.unit == sampling::Unit::number ? fmt::format("{}{}", origin, static_cast<float>(value))
                                                    : fmt::format("{}{}", origin, value);
}

/// Texts of the options that the table of parameters does not hold.
struct OptionTexts {
    std::string default_text;
    std::string absence;
};

std::vector<OptionTexts> option_texts() {
    std::vector<OptionTexts> texts;
    for (const sampling::Parameter& parameter : sampling::parameter_table()) {
        const auto absence = parameter.command_line.absence;
        texts.push_back({default_text(parameter), absence ? fmt::format("{}", *absence) : ""});
    }
    return texts;
}

/// Borrows the texts.
Option option_of(const sampling::Parameter& parameter, const OptionTexts& texts) {
    const sampling::Range& range = parameter.command_line.range;
    return {
        .name = parameter.command_line.name,
        .value = parameter.placeholder,
        .kind = parameter.unit == sampling::Unit::number ? Kind::number : Kind::integer,
        .range = {range.min, range.max,
                  range.at_min == sampling::Edge::included ? LowerBound::inclusive : LowerBound::exclusive},
        .default_text = texts.default_text,
        .absence = texts.absence,
        .description = parameter.description,
        .brief = parameter.brief,
        .category = Category::sampling};
}

/// Returns a parameter as users write it.
Result<std::optional<double>> read_value(const OptionValues& values, const sampling::Parameter& parameter) {
    const std::string_view name = parameter.command_line.name;
    if (parameter.unit == sampling::Unit::number) {
        ETNA_TRY(const std::optional<float> number, values.number(name));
        return std::optional<double>(number);
    }
    if (parameter.unit == sampling::Unit::window) {
        ETNA_TRY(const std::optional<int32_t> tokens, values.signed_integer(name));
        return std::optional<double>(tokens);
    }
    ETNA_TRY(const std::optional<uint32_t> count, values.integer(name));
    return std::optional<double>(count);
}

Status read_breakers(const OptionValues& values, SamplingOptions& options) {
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
    static const std::vector<OptionTexts> texts = option_texts();
    static const std::vector<Option> options = [] {
        std::vector<Option> rows;
        for (const sampling::Parameter& parameter : sampling::parameter_table())
            rows.push_back(option_of(parameter, texts[rows.size()]));
        rows.insert(rows.end(), other_options.begin(), other_options.end());
        return rows;
    }();
    return options;
}

Result<SamplingOptions> read_sampling(const OptionValues& values) {
    SamplingOptions options;
    for (const sampling::Parameter& parameter : sampling::parameter_table()) {
        ETNA_TRY(const std::optional<double> value, read_value(values, parameter));
        if (value)
            sampling::set(options.overrides, parameter, *value);
    }
    ETNA_CHECK(read_breakers(values, options));
    ETNA_CHECK(read_biases(values, options));
    ETNA_TRY(options.seed, values.long_integer("seed"));
    if (options.seed == -1)
        options.seed.reset();
    return options;
}

} // namespace etna::cli
