#include "server/faces/llamacpp/sampling.hpp"

#include "server/api/parameter_fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::llamacpp {
namespace {

constexpr double float_max = std::numeric_limits<float>::max();

void read_breakers(Fields& fields, generate::Request& request) {
    constexpr std::string_view name = "dry_sequence_breakers";
    if (fields.list(name) == nullptr)
        return;
    const auto breakers = fields.texts(name, generate::dry_breakers_max);
    if (!breakers)
        return;
    const bool are_valid =
        !breakers->empty() && std::all_of(breakers->begin(), breakers->end(), [](const std::string& one) {
            return !one.empty() && one.size() <= generate::dry_breaker_bytes_max;
        });
    if (!are_valid) {
        return fields.refuse(name, fmt::format("must be a non-empty list of strings of 1 to {} bytes",
                                               generate::dry_breaker_bytes_max));
    }
    request.dry_breakers = *breakers;
}

/// Refuses unsupported samplers, unless they are off.
void refuse_unsupported_samplers(Fields& fields) {
    constexpr const char* unsupported = "is not supported";
    const auto range = fields.number("dynatemp_range", -float_max, float_max);
    if (range.value_or(0) > 0)
        fields.refuse("dynatemp_range", unsupported, "unsupported_parameter");
    const auto mirostat = fields.integer("mirostat", 0, 2);
    if (mirostat.value_or(0) != 0)
        fields.refuse("mirostat", unsupported, "unsupported_parameter");
    const auto target = fields.number("adaptive_target", -float_max, 1);
    if (target.value_or(-1) >= 0)
        fields.refuse("adaptive_target", unsupported, "unsupported_parameter");
    for (const std::string_view off : {"dynatemp_exponent", "mirostat_tau", "mirostat_eta", "adaptive_decay"})
        fields.number(off, -float_max, float_max);
}

struct Sampler {
    std::string_view name;
    char letter;
    std::vector<std::string_view> parameters; ///< whose neutral values turn it off
};

const std::vector<Sampler>& samplers() {
    static const std::vector<Sampler> all = {
        {"penalties", 'e', {"repeat_penalty", "presence_penalty", "frequency_penalty"}},
        {"dry", 'd', {"dry_multiplier"}},
        {"top_n_sigma", 's', {"top_n_sigma"}},
        {"top_k", 'k', {"top_k"}},
        {"typ_p", 'y', {"typical_p"}},
        {"top_p", 'p', {"top_p"}},
        {"min_p", 'm', {"min_p"}},
        {"xtc", 'x', {"xtc_probability"}},
        {"temperature", 't', {"temperature"}}};
    return all;
}

void turn_off(const Sampler& sampler, generate::SamplingOverrides& overrides) {
    for (const std::string_view name : sampler.parameters) {
        const auto* const parameter = sampling::find_parameter(&sampling::Parameter::llamacpp, name);
        sampling::set(overrides, *parameter, *parameter->neutral);
    }
}

/// Returns the names in `samplers`, which is a list or a string of letters; empty if absent.
std::optional<std::vector<std::string>> read_names(Fields& fields) {
    const Json* const given = fields.any("samplers");
    if (given == nullptr)
        return std::nullopt;
    if (!given->is_string())
        return fields.texts("samplers", samplers().size());
    std::vector<std::string> names;
    for (const char letter : given->get<std::string>()) {
        const auto found = std::ranges::find(samplers(), letter, &Sampler::letter);
        names.emplace_back(found == samplers().end() ? std::string(1, letter) : std::string(found->name));
    }
    return names;
}

std::vector<std::string_view> read_samplers(Fields& fields, generate::SamplingOverrides& overrides) {
    const auto names = read_names(fields);
    if (!names)
        return all_samplers();
    std::vector<std::string_view> used;
    auto next = samplers().begin();
    const auto end = samplers().end();
    for (const std::string& name : *names) {
        const auto found = std::ranges::find(next, end, name, &Sampler::name);
        if (found == end) {
            fields.refuse("samplers",
                          fmt::format("must name some of {}, each once, in this order",
                                      fmt::join(all_samplers(), ", ")),
                          "unsupported_value");
            return used;
        }
        for (; next != found; ++next)
            turn_off(*next, overrides);
        used.push_back((next++)->name);
    }
    for (; next != end; ++next)
        turn_off(*next, overrides);
    return used;
}

constexpr float ban = -std::numeric_limits<float>::infinity();

/// Returns the bias in a JSON value: a number, or false for a ban; empty for any other value.
std::optional<float> bias_of(const Json& value) {
    if (value == false)
        return ban;
    const bool is_bias =
        value.is_number() && value.get<double>() >= -float_max && value.get<double>() <= float_max;
    return is_bias ? std::optional(value.get<float>()) : std::nullopt;
}

/// Parses a token id; empty if `name` is not a number.
std::optional<uint64_t> numbered_token(std::string_view name) {
    uint64_t token = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), token);
    return error == std::errc() && end == name.data() + name.size() ? std::optional(token) : std::nullopt;
}

/// Reads entries of `logit_bias`: a token id, or a text whose tokens all get the bias.
class BiasReader {
public:
    BiasReader(Fields& fields, const text::Tokenizer& tokenizer, std::vector<sampling::LogitBias>& biases)
        : fields_(&fields), tokenizer_(&tokenizer), biases_(&biases) {}

    void add(const Json& token, const Json& given) {
        const auto bias = bias_of(given);
        if (!bias)
            return refuse("must give each token a number, or false to ban it");
        if (token.is_string())
            return add_text(token.get_ref<const std::string&>(), *bias);
        if (!token.is_number_unsigned() || token.get<uint64_t>() >= tokenizer_->size())
            return refuse(fmt::format("must name tokens by texts or ids below {}", tokenizer_->size()));
        push(token.get<TokenId>(), *bias);
    }

    void add_text(const std::string& text, float bias) {
        if (text.size() > text_bytes_max)
            return refuse(
                fmt::format("has a text of {} bytes; the maximum is {}", text.size(), text_bytes_max));
        const auto tokens =
            tokenizer_->encode(text, {.special = text::SpecialTokens::literal, .bos = text::AddBos::never});
        if (!tokens)
            return refuse("has a text that the tokenizer cannot encode");
        for (const TokenId token : *tokens)
            push(token, bias);
    }

    void refuse(const std::string& problem) { fields_->refuse("logit_bias", problem); }

private:
    static constexpr std::size_t text_bytes_max = 4096;
    static constexpr std::size_t biases_max = 1'000'000; // limits the memory of texts with many tokens

    void push(TokenId token, float bias) {
        if (biases_->size() == biases_max)
            return refuse(fmt::format("has more than {} tokens", biases_max));
        biases_->push_back({token, bias});
    }

    Fields* fields_;
    const text::Tokenizer* tokenizer_;
    std::vector<sampling::LogitBias>* biases_;
};

/// Reads [[token, bias], ...] or {"token": bias}.
void read_logit_bias(Fields& fields, const text::Tokenizer& tokenizer, generate::Request& request) {
    const Json* const given = fields.any("logit_bias");
    if (given == nullptr)
        return;
    BiasReader reader(fields, tokenizer, request.logit_bias);
    if (given->is_object()) {
        for (const auto& [name, bias] : given->items()) {
            const auto number = numbered_token(name);
            reader.add(number ? Json(*number) : Json(name), bias);
        }
        return;
    }
    const bool are_pairs = given->is_array() &&
                           std::all_of(given->begin(), given->end(),
                                       [](const Json& pair) { return pair.is_array() && pair.size() == 2; });
    if (!are_pairs)
        return reader.refuse("must be a list of pairs of a token and its bias, or an object");
    for (const Json& pair : *given)
        reader.add(pair[0], pair[1]);
}

/// -1 selects a random seed, as does the number that `generation_settings` shows for it.
std::optional<int64_t> read_seed(Fields& fields) {
    constexpr int64_t seed_max = std::numeric_limits<uint32_t>::max();
    const auto seed = fields.integer("seed", -1, seed_max);
    return seed == -1 || seed == seed_max ? std::nullopt : seed;
}

} // namespace

std::vector<std::string_view> all_samplers() {
    std::vector<std::string_view> names;
    for (const Sampler& sampler : samplers())
        names.push_back(sampler.name);
    return names;
}

std::vector<std::string_view> read_sampling(Fields& fields, const api::RequestContext& context,
                                            generate::Request& request) {
    api::read_parameters(fields, &sampling::Parameter::llamacpp, context.tokenizer->size(), request.sampling);
    read_breakers(fields, request);
    refuse_unsupported_samplers(fields);
    read_logit_bias(fields, *context.tokenizer, request);
    if (request.end_tokens == generate::EndTokens::ignore) { // end tokens are banned, as in llama.cpp
        for (const TokenId end : context.tokenizer->end_tokens())
            request.logit_bias.push_back({end, ban});
    }
    request.seed = read_seed(fields);
    fields.note({"backend_sampling"});
    return read_samplers(fields, request.sampling);
}

} // namespace etna::server::llamacpp
