#include "server/api/sampling_fields.hpp"

#include "core/sampling/history.hpp"
#include "server/api/parameter_fields.hpp"
#include "server/api/reasoning_fields.hpp"
#include "server/api/structured_output.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::api {
namespace {

using sampling::tokens_max;

sampling::Interface interface_of(Dialect dialect) {
    return dialect == Dialect::ovms ? &sampling::Parameter::ovms : &sampling::Parameter::openai;
}

/// Reads fields of `nvext`, for those absent at the root.
void read_nvext(Fields& fields, uint32_t vocabulary, const RequestLimits& limits,
                generate::Request& request) {
    const Json* object = fields.object("nvext");
    if (object == nullptr)
        return;
    Fields nvext(*object, "nvext");
    if (const Json* const top_k = nvext.any("top_k"); top_k != nullptr && *top_k == 0)
        nvext.refuse("top_k", fmt::format("must be -1 or from 1 to {}", tokens_max),
                     "integer_below_min_value");
    generate::SamplingOverrides overrides;
    read_parameters(nvext, &sampling::Parameter::nvext, vocabulary, overrides);
    request.sampling = over(request.sampling, overrides);
    nvext.flag("use_raw_prompt"); // read elsewhere, like `annotations`
    const bool ignores_end = nvext.flag("ignore_eos").value_or(false);
    if (ignores_end && fields.any("ignore_eos") == nullptr)
        request.end_tokens = generate::EndTokens::ignore;
    const auto greedy = nvext.flag("greedy_sampling");
    const auto greed = nvext.flag("greed_sampling"); // as Dynamo's source spells it
    if (greedy.value_or(greed.value_or(false)) && !request.sampling.temperature)
        request.sampling.temperature = 0.0F;
    read_nvext_limit(fields, nvext, limits, request);
    nvext.accept({"annotations"});
    fields.adopt(nvext);
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

void read_lengths(Fields& fields, const RequestContext& context, const LengthMembers& members,
                  generate::Request& request) {
    std::string_view name = members.names.back();
    for (const std::string_view member : members.names) {
        if (read_length(fields, member, member == "max_tokens" ? members.max_tokens_min : 1, request))
            name = member;
    }
    const auto ceiling = context.limits.max_tokens_limit;
    if (context.dialect == Dialect::ovms && ceiling) {
        request.max_tokens = request.max_tokens.value_or(*ceiling);
        if (*request.max_tokens > *ceiling) {
            fields.refuse(name, fmt::format("must be at most {} on this server", *ceiling),
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
    request.stop = read_stop_strings(fields);
    const auto included = fields.flag("include_stop_str_in_output");
    if (dialect == Dialect::ovms && is_streamed && included == false)
        fields.refuse("include_stop_str_in_output", "cannot be false with `stream`");
    const bool includes = included.value_or(dialect == Dialect::ovms && is_streamed);
    request.matched_stop = includes ? generate::MatchedStop::included : generate::MatchedStop::excluded;
}

} // namespace

std::vector<std::string> read_stop_strings(Fields& fields) {
    auto stops = fields.texts("stop", stops_max).value_or(std::vector<std::string>());
    if (std::ranges::find(stops, "") != stops.end())
        fields.refuse("stop", "must not contain an empty string");
    return stops;
}

std::optional<int64_t> read_seed(Fields& fields) {
    using Limits = std::numeric_limits<int64_t>;
    const auto seed = fields.integer("seed", Limits::min(), Limits::max());
    return seed == -1 ? std::nullopt : seed;
}

bool read_length(Fields& fields, std::string_view name, int64_t min, generate::Request& request) {
    const bool is_first = !request.max_tokens && !request.is_unbounded;
    const Json* const given = fields.any(name);
    if (given != nullptr && given->is_number() && (*given == -1 || *given == -2)) {
        request.is_unbounded = request.is_unbounded || is_first;
        return is_first;
    }
    const auto tokens = fields.integer(name, min, tokens_max);
    if (!tokens || !is_first)
        return false;
    request.max_tokens = static_cast<uint32_t>(*tokens);
    return true;
}

void check_ignored_end(Fields& fields, const RequestLimits& limits, const generate::Request& request,
                       std::string_view member) {
    if (request.end_tokens == generate::EndTokens::stop || !limits.ignore_eos_max_tokens)
        return;
    if (!request.max_tokens || *request.max_tokens > *limits.ignore_eos_max_tokens) {
        fields.refuse(
            member,
            fmt::format("is required with ignore_eos and must be at most {}", *limits.ignore_eos_max_tokens),
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
                     generate::Request& request, const LengthMembers& lengths) {
    const Dialect dialect = context.dialect;
    const RequestLimits& limits = context.limits;
    const uint32_t vocabulary = context.tokenizer->size();
    read_parameters(fields, interface_of(dialect), vocabulary, request.sampling);
    request.sampling.repetition_window_tokens = sampling::full_history; // as vLLM counts, not as llama.cpp
    read_lengths(fields, context, lengths, request);
    read_truncation(fields, context.context_tokens, request);
    read_stops(fields, dialect, is_streamed, request);
    read_tokens(fields, vocabulary, request);
    read_operator_settings(fields, limits, request);
    read_nvext(fields, vocabulary, limits, request);
    read_structure(fields, request);
    request.seed = read_seed(fields);
    request.choices = static_cast<uint32_t>(
        fields.integer("n", 1, std::min(limits.choices_max, limits.answers_max)).value_or(1));
    read_beams(fields, context, request);
    drop_operator_limit(fields, request);
    read_speculation(fields, request);
    if (!fields.flag("skip_special_tokens").value_or(true))
        request.control_tokens = text::ControlTokens::shown;
    if (const auto salt = fields.text("cache_salt"))
        request.cache_salt = std::hash<std::string>()(*salt);
    request.priority = read_priority(fields);
    fields.flag("spaces_between_special_tokens"); // never added, as in fast tokenizers
    if (fields.any("logits_processors") != nullptr) {
        fields.refuse("logits_processors", "is not supported: it would run code of the request in the server",
                      "unsupported_parameter");
    }
}

namespace {

constexpr float ban = -std::numeric_limits<float>::infinity();

/// {"token id": bias}.
void read_logit_bias(Fields& fields, uint32_t vocabulary, generate::Request& request) {
    const Json* map = fields.object("logit_bias");
    if (map == nullptr)
        return;
    constexpr double bias_max = 100;
    for (const auto& [name, bias] : map->items()) {
        const bool is_number =
            !name.empty() && name.size() <= 10 &&
            std::all_of(name.begin(), name.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
        const uint64_t token = is_number ? std::stoull(name) : vocabulary;
        if (token >= vocabulary)
            return fields.refuse(
                "logit_bias",
                fmt::format("has the key `{}`; keys must be token ids below {}", name, vocabulary));
        if (!bias.is_number() || !(bias.get<double>() >= -bias_max && bias.get<double>() <= bias_max))
            return fields.refuse("logit_bias", fmt::format("must map token ids to numbers from {} to {}",
                                                           -bias_max, bias_max));
        // -100 is a ban in the OpenAI API.
        const float value = bias.get<float>();
        request.logit_bias.push_back({static_cast<TokenId>(token), value <= -bias_max ? ban : value});
    }
}

/// vLLM's field: bans all other tokens, including the end token unless listed. Runs after `logit_bias`, so
/// that a ban overrides a bias.
void read_allowed_tokens(Fields& fields, uint32_t vocabulary, generate::Request& request) {
    constexpr std::string_view name = "allowed_token_ids";
    const std::vector<TokenId> allowed = read_token_list(fields, name, vocabulary);
    if (fields.any(name) == nullptr)
        return;
    if (allowed.empty())
        return fields.refuse(name, "must not be empty: no token would be allowed");
    std::vector<bool> is_allowed(vocabulary);
    for (const TokenId token : allowed)
        is_allowed[token] = true;
    for (TokenId token = 0; token < vocabulary; ++token) {
        if (!is_allowed[token])
            request.logit_bias.push_back({token, ban});
    }
}

} // namespace

void read_operator_settings(Fields& fields, const RequestLimits& limits, generate::Request& request) {
    request.has_strict_tools = limits.has_strict_tools;
    request.json_spacing = limits.json_spacing;
    request.stop_scope = limits.stop_scope;
    if (const auto in_reasoning = fields.flag("stop_in_reasoning"))
        request.stop_scope = *in_reasoning ? generate::StopScope::all_text : generate::StopScope::content;
    read_reasoning_limit(fields, limits, request);
}

int32_t read_priority(Fields& fields) {
    using Priority = std::numeric_limits<int32_t>;
    return static_cast<int32_t>(fields.integer("priority", Priority::min(), Priority::max()).value_or(0));
}

std::vector<TokenId> read_token_list(Fields& fields, std::string_view name, uint32_t vocabulary) {
    const Json* const list = fields.list(name);
    std::vector<TokenId> tokens;
    for (const Json& token : list == nullptr ? Json::array() : *list) {
        if (!token.is_number_unsigned() || token.get<uint64_t>() >= vocabulary) {
            fields.refuse(name, fmt::format("must be a list of token ids below {}", vocabulary));
            return {};
        }
        tokens.push_back(token.get<TokenId>());
    }
    return tokens;
}

void read_tokens(Fields& fields, uint32_t vocabulary, generate::Request& request) {
    read_logit_bias(fields, vocabulary, request);
    read_allowed_tokens(fields, vocabulary, request);
    request.stop_tokens = read_token_list(fields, "stop_token_ids", vocabulary);
    for (const std::string_view name : {"bad_words", "logprob_token_ids"}) { // vLLM's
        const Json* const list = fields.list(name);
        if (list != nullptr && !list->empty())
            fields.refuse(name, "is not supported", "unsupported_parameter");
    }
}

namespace {

constexpr int64_t best_of_max = 20; // OpenAI's, and OVMS's default of best_of_limit
constexpr float default_diversity_penalty = 1;

engine::EarlyStopping read_early_stopping(Fields& fields) {
    const Json* const given = fields.any("early_stopping");
    if (given == nullptr)
        return engine::EarlyStopping::heuristic;
    if (given->is_boolean())
        return given->get<bool>() ? engine::EarlyStopping::first : engine::EarlyStopping::heuristic;
    if (*given != "never")
        fields.refuse("early_stopping", R"(must be true, false or "never")");
    return engine::EarlyStopping::never;
}

std::optional<double> read_length_penalty(Fields& fields) {
    return fields.number("length_penalty", -engine::length_penalty_max, engine::length_penalty_max);
}

std::optional<double> read_diversity_penalty(Fields& fields) {
    return fields.number("diversity_penalty", 0, engine::diversity_penalty_max);
}

/// Handles beam search fields without beam search: they have no effect. OVMS accepts them, so they are
/// reported on its paths; on OpenAI paths they are refused, unless they have their default. A wrong type is
/// an error on both.
void read_without_search(Fields& fields, Dialect dialect) {
    // OVMS documents 1 as the default of diversity_penalty, so clients send it without beam search.
    const bool is_ovms = dialect == Dialect::ovms;
    const auto diversity = read_diversity_penalty(fields);
    const std::pair<std::string_view, bool> requested[] = {
        {"num_beam_groups", fields.integer("num_beam_groups", 1, best_of_max).value_or(1) != 1},
        {"diversity_penalty", diversity.value_or(0) != 0 && !(is_ovms && diversity == 1)},
        {"length_penalty", read_length_penalty(fields).value_or(1) != 1},
        {"early_stopping", read_early_stopping(fields) != engine::EarlyStopping::heuristic}};
    for (const auto& [name, is_requested] : requested) {
        if (is_requested && is_ovms) {
            fields.note({name});
        } else if (is_requested) {
            fields.refuse(name, "has an effect only with beam search; set best_of or use_beam_search");
        }
    }
}

/// Reads groups and penalty; if only one is given, the other is derived from it.
void read_groups(Fields& fields, engine::BeamOptions& beams) {
    const auto groups = fields.integer("num_beam_groups", 1, beams.width);
    const auto penalty = read_diversity_penalty(fields);
    beams.diversity_penalty = static_cast<float>(penalty.value_or(default_diversity_penalty));
    beams.groups = beams.diversity_penalty > 0 && penalty && !groups
                       ? beams.width
                       : static_cast<uint32_t>(groups.value_or(1));
    if (beams.width % beams.groups != 0)
        fields.refuse("num_beam_groups", fmt::format("must divide the {} beams evenly", beams.width));
}

void read_search(Fields& fields, uint32_t width, generate::Request& request) {
    engine::BeamOptions beams = {.width = width};
    read_groups(fields, beams);
    beams.length_penalty = static_cast<float>(read_length_penalty(fields).value_or(1));
    beams.early_stopping = read_early_stopping(fields);
    request.beams = beams;
}

} // namespace

void read_beams(Fields& fields, const RequestContext& context, generate::Request& request) {
    const RequestLimits& limits = context.limits;
    const Dialect dialect = context.dialect;
    const int64_t choices = request.choices;
    const int64_t width_max = std::min<int64_t>({best_of_max, limits.choices_max, limits.answers_max});
    const auto best_of = fields.integer("best_of", 1, width_max);
    if (best_of.value_or(choices) < choices)
        return fields.refuse("best_of", fmt::format("must be at least n, which is {}", choices));
    const auto beams = fields.integer("num_beams", 1, width_max);
    if (beams.value_or(choices) < choices)
        return fields.refuse("num_beams", fmt::format("must be at least n, which is {}", choices));
    if (const auto returned = fields.integer("num_return_sequences", 1, choices);
        returned.value_or(choices) < choices)
        return fields.refuse("num_return_sequences", fmt::format("contradicts n, which is {}", choices));
    const int64_t width = std::max(best_of.value_or(choices), beams.value_or(1));
    const bool is_greedy =
        request.sampling.temperature.value_or(context.sampling_defaults.temperature) == 0.0F;
    const bool is_requested = fields.flag("use_beam_search").value_or(false) || beams.value_or(1) > 1;
    const bool is_implied = best_of.value_or(1) > 1 && (dialect == Dialect::ovms || is_greedy);
    if (width > best_of_max && is_requested)
        return fields.refuse("n", fmt::format("must be at most {} for a beam search", best_of_max));
    if (is_requested || is_implied)
        return read_search(fields, static_cast<uint32_t>(width), request);
    read_without_search(fields, dialect);
    if (width > choices)
        request.best_of = static_cast<uint32_t>(width);
}

void check_answers(Fields& fields, const RequestLimits& limits, std::size_t prompts,
                   const generate::Request& request) {
    const std::size_t answers = prompts * request.choices;
    if (answers > limits.answers_max) {
        return fields.refuse("prompt", fmt::format("requests {} answers with `n`; at most {} are allowed",
                                                   answers, limits.answers_max));
    }
    const uint32_t width = request.beams ? request.beams->width : request.best_of.value_or(request.choices);
    const std::string_view name = fields.any("best_of") != nullptr ? "best_of" : "num_beams";
    if (prompts * width > limits.answers_max) {
        fields.refuse(name, fmt::format("requires {} sequences for {} prompts; at most {} are allowed",
                                        prompts * width, prompts, limits.answers_max));
    }
}

void read_speculation(Fields& fields, generate::Request& request) {
    const auto tokens = fields.integer("num_assistant_tokens", 0, engine::drafts_max);
    const auto confidence = fields.number("assistant_confidence_threshold", 0, 1);
    if (tokens && confidence)
        fields.refuse("assistant_confidence_threshold", "cannot be combined with num_assistant_tokens");
    if (tokens)
        request.speculation.tokens_max = static_cast<uint32_t>(*tokens);
    if (confidence)
        request.speculation.confidence_min = static_cast<float>(*confidence);
    if (const auto ngram = fields.integer("max_ngram_size", 0, engine::ngram_max))
        request.speculation.ngram_max = static_cast<uint32_t>(*ngram);
}

void read_prediction(Fields& fields, generate::Request& request) {
    const Json* const prediction = fields.object("prediction");
    if (prediction == nullptr)
        return;
    Fields nested(*prediction, "prediction");
    nested.require("type");
    nested.choice("type", {"content"});
    nested.require("content");
    const Json* const content = nested.any("content");
    if (content != nullptr && content->is_string()) {
        request.prediction = content->get<std::string>();
    } else if (content != nullptr && content->is_array()) {
        for (const Json& part : *content) {
            const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                                 part.contains("text") && part["text"].is_string();
            if (!is_text) {
                nested.refuse("content", "must be a string or a list of parts of type `text`");
                break;
            }
            request.prediction += part["text"].get<std::string>();
        }
    } else if (content != nullptr) {
        nested.refuse("content", "must be a string or a list of parts of type `text`");
    }
    fields.adopt(nested);
}

} // namespace etna::server::api
