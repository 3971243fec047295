#include "server/faces/llamacpp/request.hpp"

#include "server/api/sampling_fields.hpp"
#include "server/api/structured_output.hpp"
#include "server/faces/llamacpp/errors.hpp"
#include "server/faces/llamacpp/prompts.hpp"
#include "server/faces/llamacpp/sampling.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace etna::server::llamacpp {
namespace {

constexpr int64_t int32_max = std::numeric_limits<int32_t>::max();
constexpr std::size_t response_fields_max = 64;

/// Reads the answer's length from the first of these members that is present. Returns its name.
std::string_view read_length(Fields& fields, generate::Request& request) {
    constexpr int64_t until_context_is_full = -2; // from an earlier version of the API
    std::string_view name = "n_predict";
    bool is_given = false;
    for (const std::string_view member : {"n_predict", "max_completion_tokens", "max_tokens"}) {
        const auto tokens = fields.integer(member, until_context_is_full, int32_max);
        if (!tokens || is_given)
            continue;
        is_given = true;
        name = member;
        request.is_unbounded = *tokens < 0;
        if (!request.is_unbounded)
            request.max_tokens = static_cast<uint32_t>(*tokens);
    }
    return name;
}

/// Empty stop strings are ignored, as in llama.cpp.
void read_end(Fields& fields, const api::RequestLimits& limits, generate::Request& request) {
    const std::string_view length = read_length(fields, request);
    request.stop = fields.texts("stop", api::stops_max).value_or(std::vector<std::string>());
    std::erase(request.stop, "");
    if (fields.flag("ignore_eos").value_or(false))
        request.end_tokens = generate::EndTokens::ignore;
    api::check_ignored_end(fields, limits, request, length);
    api::read_operator_settings(fields, limits, request);
}

/// A grammar takes precedence over a schema.
void read_structure(Fields& fields, generate::Request& request, EchoedSettings& echoed) {
    echoed.grammar = fields.text("grammar").value_or("");
    if (!echoed.grammar.empty()) {
        request.grammar = {
            .notation = grammar::Notation::gbnf, .text = echoed.grammar, .place = fields.path_of("grammar")};
        fields.accept({"json_schema"});
    } else if (fields.any("json_schema") != nullptr) {
        request.grammar.emplace();
        api::read_schema(fields, "json_schema", *request.grammar);
    }
    if (fields.flag("grammar_lazy").value_or(false))
        fields.refuse("grammar_lazy", "is not supported", "unsupported_parameter");
    fields.accept({"grammar_triggers", "grammar_type", "preserved_tokens"}); // members for lazy grammars
}

void read_output(Fields& fields, OutputOptions& output, generate::Request& request) {
    output.is_streamed = fields.flag("stream").value_or(false);
    output.returns_tokens = fields.flag("return_tokens").value_or(false);
    output.returns_progress = fields.flag("return_progress").value_or(false);
    output.has_timings = fields.flag("timings_per_token").value_or(false);
    output.fields = fields.texts("response_fields", response_fields_max).value_or(std::vector<std::string>());
    const auto logprobs = fields.integer("logprobs", 0, generate::logprobs_max); // used if n_probs is absent
    const auto probabilities = fields.integer("n_probs", 0, generate::logprobs_max);
    const auto count = static_cast<uint32_t>(probabilities.value_or(logprobs.value_or(0)));
    output.has_probabilities = count > 0;
    if (fields.flag("post_sampling_probs").value_or(false)) {
        fields.refuse("post_sampling_probs",
                      "is not supported: probabilities are those of the model, before any sampler",
                      "unsupported_parameter");
    }
    const auto time_ms = fields.integer("t_max_predict_ms", -1, int32_max);
    if (time_ms.value_or(0) > 0)
        output.generation_time_max = std::chrono::milliseconds(*time_ms);
    const bool needs_each_token = output.is_streamed || output.generation_time_max;
    if (count > 0 || needs_each_token)
        request.logprobs = count;
}

/// Reads members without effect here: each is reported unless its value is neutral.
void read_ignored(Fields& fields) {
    struct Ignored {
        std::string_view name;
        int64_t min;
        int64_t neutral;
    };
    constexpr Ignored all[] = {{"id_slot", -1, -1}, {"n_cache_reuse", 0, 0}, {"sse_ping_interval", -1, 0}};
    for (const Ignored& one : all) {
        const auto value = fields.integer(one.name, one.min, int32_max);
        if (value && *value != one.neutral)
            fields.note({one.name});
    }
    fields.note({"verbose"});
    fields.accept({"model", "stream_options"});
    for (const std::string_view member :
         {"speculative.n_max", "speculative.n_min", "speculative.p_min", "speculative.type"})
        fields.note({member});
}

/// Refuses unsupported members that would change the answer, unless their value is neutral.
void refuse_unsupported_options(Fields& fields) {
    if (fields.integer("n_indent", 0, int32_max).value_or(0) > 0)
        fields.refuse("n_indent", "is not supported", "unsupported_parameter");
    const Json* const adapters = fields.list("lora");
    if (adapters != nullptr && !adapters->empty())
        fields.refuse("lora", "is not supported: this server has no adapters", "unsupported_parameter");
}

/// The members of a ContextShift have no effect unless the operator allows it.
void read_context(Fields& fields, const api::RequestContext& context, generate::Request& request,
                  EchoedSettings& echoed) {
    echoed.n_keep = fields.integer("n_keep", -1, int32_max).value_or(0);
    echoed.n_discard = fields.integer("n_discard", 0, int32_max).value_or(0);
    if (context.shifts_context) {
        request.context_shift = {.keep_tokens = std::nullopt,
                                 .discard_tokens = static_cast<uint32_t>(echoed.n_discard)};
        if (echoed.n_keep >= 0)
            request.context_shift->keep_tokens = static_cast<uint32_t>(echoed.n_keep);
    }
    for (const std::string_view name : {"n_keep", "n_discard"}) {
        const auto* const value = fields.any(name);
        if (value != nullptr && *value != 0 && !context.shifts_context)
            fields.note({name});
    }
    if (!fields.flag("cache_prompt").value_or(true)) { // a unique salt, so that no cached prefix matches
        constexpr int half_bits = 32;
        request.cache_salt =
            uint64_t{generate::random_seed()} << half_bits | uint64_t{generate::random_seed()};
    }
}

uint32_t read_choices(Fields& fields, const api::RequestLimits& limits) {
    const int64_t max = std::min(limits.choices_max, limits.answers_max);
    const auto own = fields.integer("n_cmpl", 1, max);
    const auto openai = fields.integer("n", 1, max);
    return static_cast<uint32_t>(own.value_or(openai.value_or(1)));
}

/// Reads all members except those of the prompt.
generate::Request read_options(Fields& fields, const api::RequestContext& context,
                               CompletionRequest& parsed) {
    generate::Request request;
    read_output(fields, parsed.output, request);
    read_end(fields, context.limits, request);
    parsed.echoed.samplers = read_sampling(fields, context, request);
    read_structure(fields, request, parsed.echoed);
    read_context(fields, context, request, parsed.echoed);
    request.choices = read_choices(fields, context.limits);
    read_ignored(fields);
    refuse_unsupported_options(fields);
    return request;
}

ApiResult<CompletionRequest> finish(Fields& fields, const api::RequestContext& context,
                                    generate::Request request, Prompts prompts, CompletionRequest parsed) {
    if (prompts.prompts.size() * request.choices > context.limits.answers_max) {
        fields.refuse("n_cmpl",
                      fmt::format("requests {} answers; at most {} are allowed",
                                  prompts.prompts.size() * request.choices, context.limits.answers_max));
    }
    ETNA_CHECK(fields.status());
    parsed.call.ignored = api::ignored_members(fields);
    parsed.output.is_list = prompts.is_list || request.choices > 1;
    for (Prompt& prompt : prompts.prompts) {
        parsed.call.requests.push_back(request);
        parsed.call.requests.back().prompt = std::move(prompt);
    }
    return parsed;
}

} // namespace

ApiResult<CompletionRequest> read_completion(const Json& body, const api::RequestContext& context) {
    Fields fields(body);
    CompletionRequest parsed = {.call = {.prompt_member = "prompt"}};
    generate::Request request = read_options(fields, context, parsed);
    Prompts prompts = read_prompts(fields, context);
    return finish(fields, context, std::move(request), std::move(prompts), std::move(parsed));
}

ApiResult<CompletionRequest> read_infill(const Json& body, const api::RequestContext& context,
                                         const std::optional<text::InfillTokens>& tokens) {
    if (!tokens)
        return not_supported("infill is not supported by this model: it has no fill-in-the-middle tokens");
    Fields fields(body);
    CompletionRequest parsed = {.call = {.prompt_member = "input_prefix"}};
    generate::Request request = read_options(fields, context, parsed);
    Prompts prompts;
    prompts.prompts.push_back(read_infill_prompt(fields, context, tokens));
    return finish(fields, context, std::move(request), std::move(prompts), std::move(parsed));
}

} // namespace etna::server::llamacpp
