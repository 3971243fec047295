#include "server/openai/generation_fields.hpp"

#include "core/sampling/history.hpp"
#include "server/openai/format_fields.hpp"
#include "server/openai/generation_call.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr int64_t tokens_max = std::numeric_limits<int32_t>::max();
constexpr std::size_t stops_max = 32;
constexpr double penalty_max = 2;
constexpr double repetition_max = 100;
constexpr double nvext_repetition_max = 2;
/// The values of top_k that disable it.
enum class KeepsAll : uint8_t { minus_one, zero_too };

/// Stands in for a top_p of 0: keeps only the most likely token.
constexpr float top_p_min = 1e-6F;

std::optional<float> as_float(std::optional<double> value) {
    return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
}

/// Reads top_k as a token count; 0: all, also for values of at least the vocabulary size.
std::optional<uint32_t> read_top_k(Fields& fields, uint32_t vocabulary, KeepsAll keeps_all) {
    const auto value = fields.integer("top_k", -1, tokens_max);
    if (value == 0 && keeps_all == KeepsAll::minus_one) {
        fields.refuse("top_k", fmt::format("must be -1 or from 1 to {}", tokens_max),
                      "integer_below_min_value");
    }
    if (!value || *value < 0 || *value >= vocabulary)
        return value ? std::optional(0U) : std::nullopt;
    return static_cast<uint32_t>(*value);
}

std::optional<float> read_repetition(Fields& fields, double most) {
    return as_float(fields.number("repetition_penalty", 0, most, Bound::excluded));
}

void read_sampling(Fields& fields, Dialect dialect, uint32_t vocabulary,
                   generate::SamplingOverrides& overrides) {
    // OVMS documents top_p in (0, 1] and min_p in [0, 1).
    const Bound at_edge = dialect == Dialect::ovms ? Bound::excluded : Bound::included;
    overrides.temperature = as_float(fields.number("temperature", 0, 2));
    if (const auto top_p = as_float(fields.number("top_p", 0, 1, at_edge)))
        overrides.top_p = std::max(*top_p, top_p_min);
    overrides.top_k = read_top_k(fields, vocabulary, KeepsAll::zero_too);
    overrides.min_p = as_float(fields.number("min_p", 0, 1, Bound::included, at_edge));
    overrides.frequency_penalty = as_float(fields.number("frequency_penalty", -penalty_max, penalty_max));
    overrides.presence_penalty = as_float(fields.number("presence_penalty", -penalty_max, penalty_max));
    overrides.repetition_penalty = read_repetition(fields, repetition_max);
    overrides.repetition_window_tokens = sampling::full_history; // as vLLM counts, not as llama.cpp
}

/// -1 selects a random seed, as in llama.cpp.
std::optional<int64_t> read_seed(Fields& fields) {
    using Limits = std::numeric_limits<int64_t>;
    const auto seed = fields.integer("seed", Limits::min(), Limits::max());
    return seed == -1 ? std::nullopt : seed;
}

/// Reads fields of `nvext`, for those absent at the root.
void read_nvext(Fields& fields, uint32_t vocabulary, generate::Request& request) {
    const Json* object = fields.object("nvext");
    if (object == nullptr)
        return;
    Fields nvext(*object, "nvext");
    generate::SamplingOverrides& overrides = request.sampling;
    const auto top_k = read_top_k(nvext, vocabulary, KeepsAll::minus_one);
    nvext.flag("use_raw_prompt"); // read elsewhere, like `annotations`
    const auto repetition = read_repetition(nvext, nvext_repetition_max);
    overrides.top_k = overrides.top_k ? overrides.top_k : top_k;
    overrides.repetition_penalty = overrides.repetition_penalty ? overrides.repetition_penalty : repetition;
    const bool ignores_end = nvext.flag("ignore_eos").value_or(false);
    if (ignores_end && fields.any("ignore_eos") == nullptr)
        request.end_tokens = generate::EndTokens::ignore;
    const auto greedy = nvext.flag("greedy_sampling");
    const auto greed = nvext.flag("greed_sampling"); // as Dynamo's source spells it
    if (greedy.value_or(greed.value_or(false)) && !overrides.temperature)
        overrides.temperature = 0.0F;
    nvext.accept({"annotations"});
    if (nvext.problem())
        fields.adopt(*nvext.problem());
    fields.adopt_unknown(nvext.unknown());
}

/// -1: as many as fit in the context with an answer.
void read_truncation(Fields& fields, uint32_t context_tokens, generate::Request& request) {
    const auto given = fields.integer("truncate_prompt_tokens", -1, tokens_max);
    if (given == 0) {
        fields.refuse("truncate_prompt_tokens", fmt::format("must be -1 or from 1 to {}", tokens_max),
                      "integer_below_min_value");
    }
    if (given) {
        request.prompt_tokens_max =
            *given > 0 ? static_cast<uint32_t>(*given) : std::max(context_tokens, 2U) - 1;
    }
}

void read_lengths(Fields& fields, Dialect dialect, const RequestLimits& limits, generate::Request& request) {
    const auto completion = fields.integer("max_completion_tokens", 1, tokens_max);
    const auto plain = fields.integer("max_tokens", 0, tokens_max); // completions may request only the prompt
    const auto wanted = completion ? completion : plain;
    if (wanted)
        request.max_tokens = static_cast<uint32_t>(*wanted);
    if (dialect == Dialect::ovms && limits.max_tokens_limit) {
        request.max_tokens = request.max_tokens.value_or(*limits.max_tokens_limit);
        if (*request.max_tokens > *limits.max_tokens_limit) {
            fields.refuse(completion ? "max_completion_tokens" : "max_tokens",
                          fmt::format("must be at most {} on this server", *limits.max_tokens_limit),
                          "integer_above_max_value");
        }
    }
    request.min_tokens = static_cast<uint32_t>(fields.integer("min_tokens", 0, tokens_max).value_or(0));
    if (request.max_tokens && request.min_tokens > *request.max_tokens)
        fields.refuse("min_tokens", "must be at most max_tokens");
    if (fields.flag("ignore_eos").value_or(false))
        request.end_tokens = generate::EndTokens::ignore;
}

void read_stops(Fields& fields, Dialect dialect, bool is_streamed, generate::Request& request) {
    request.stop = fields.texts("stop", stops_max).value_or(std::vector<std::string>());
    if (std::any_of(request.stop.begin(), request.stop.end(),
                    [](const std::string& stop) { return stop.empty(); }))
        fields.refuse("stop", "has an empty string");
    const auto included = fields.flag("include_stop_str_in_output");
    if (dialect == Dialect::ovms && is_streamed && included == false)
        fields.refuse("include_stop_str_in_output", "cannot be false with `stream`");
    const bool includes = included.value_or(dialect == Dialect::ovms && is_streamed);
    request.matched_stop = includes ? generate::MatchedStop::included : generate::MatchedStop::excluded;
}

} // namespace

void check_ignored_end(Fields& fields, const RequestLimits& limits, const generate::Request& request) {
    if (request.end_tokens == generate::EndTokens::stop || !limits.ignore_eos_max_tokens)
        return;
    if (!request.max_tokens || *request.max_tokens > *limits.ignore_eos_max_tokens) {
        fields.refuse(
            "max_tokens",
            fmt::format("must be given, and be at most {}, with ignore_eos", *limits.ignore_eos_max_tokens),
            "integer_above_max_value");
    }
}

sampling::Parameters sampling_defaults(Dialect dialect) {
    constexpr uint32_t ovms_top_k = 40;
    return {.temperature = 1,
            .top_k = dialect == Dialect::ovms ? ovms_top_k : 0,
            .top_p = 1,
            .min_p = 0,
            .repetition_window_tokens = sampling::full_history};
}

void read_generation(Fields& fields, const RequestContext& context, bool is_streamed,
                     generate::Request& request) {
    const Dialect dialect = context.dialect;
    const RequestLimits& limits = context.limits;
    const uint32_t vocabulary = context.tokenizer->size();
    read_sampling(fields, dialect, vocabulary, request.sampling);
    read_lengths(fields, dialect, limits, request);
    read_truncation(fields, context.context_tokens, request);
    read_stops(fields, dialect, is_streamed, request);
    read_tokens(fields, vocabulary, request);
    read_nvext(fields, vocabulary, request);
    read_structure(fields, request);
    request.has_strict_tools = limits.has_strict_tools;
    request.seed = read_seed(fields);
    request.choices = static_cast<uint32_t>(
        fields.integer("n", 1, std::min(limits.choices_max, limits.answers_max)).value_or(1));
    read_beams(fields, context, request);
    read_speculation(fields, request);
    if (!fields.flag("skip_special_tokens").value_or(true))
        request.control_tokens = text::ControlTokens::shown;
    if (const auto salt = fields.text("cache_salt"))
        request.cache_salt = std::hash<std::string>()(*salt);
    fields.flag("spaces_between_special_tokens"); // never added, as in fast tokenizers
    if (fields.any("logits_processors") != nullptr) {
        fields.refuse("logits_processors",
                      "would run code of the request's in the server, and is not supported",
                      "unsupported_parameter");
    }
}

} // namespace etna::server::openai
