#include "cli/options/generation_options.hpp"

#include "cli/options/structure_options.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

runtime::KvType kv_type_named(std::string_view name) {
    if (name == "f32")
        return runtime::KvType::f32;
    return name == "q8_0" ? runtime::KvType::q8_0 : runtime::KvType::f16;
}

Status read_cache_types(const OptionValues& values, runtime::ExecutorOptions& executor) {
    ETNA_TRY(const auto both, values.choice("kv-type"));
    ETNA_TRY(const auto key, values.choice("key-type"));
    ETNA_TRY(const auto value, values.choice("value-type"));
    const std::string usual = both.value_or("f16");
    executor.key_type = kv_type_named(key.value_or(usual));
    executor.value_type = kv_type_named(value.value_or(usual));
    return {};
}

Result<std::vector<std::string>> read_stops(const OptionValues& values) {
    std::vector<std::string> stops;
    for (const TypedValue& stop : values.texts("stop")) {
        if (stop.text.empty()) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{}: a stop string must not be empty", stop.origin)};
        }
        stops.push_back(stop.text);
    }
    return stops;
}

/// Reads the length limits and the end conditions of the answer.
Status read_length(const OptionValues& values, GenerationOptions& options) {
    ETNA_TRY(options.max_tokens, values.integer("max-tokens"));
    ETNA_TRY(const auto min_tokens, values.integer("min-tokens"));
    options.min_tokens = min_tokens.value_or(0);
    if (options.max_tokens && options.min_tokens > *options.max_tokens) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("--min-tokens {} is more than --max-tokens {}", options.min_tokens,
                                 *options.max_tokens),
                     "lower the one or raise the other"};
    }
    ETNA_TRY(options.stop, read_stops(values));
    ETNA_TRY(options.stop_tokens, values.integers("stop-token-id"));
    ETNA_TRY(const bool ignores_end, values.flag("ignore-eos"));
    options.end_tokens = ignores_end ? generate::EndTokens::ignore : generate::EndTokens::stop;
    return {};
}

/// Checks the ids here, because the engine does not.
Status check_stop_tokens(const std::vector<TokenId>& tokens, uint32_t vocabulary) {
    for (const TokenId token : tokens) {
        if (token >= vocabulary) {
            return Error{
                ErrorKind::invalid_argument,
                fmt::format("--stop-token-id names token {}, and the vocabulary has {}", token, vocabulary),
                fmt::format("name tokens from 0 to {}", vocabulary - 1)};
        }
    }
    return {};
}

Result<chat::Thinking> read_thinking(const OptionValues& values) {
    ETNA_TRY(const bool on, values.flag("think"));
    ETNA_TRY(const bool off, values.flag("no-think"));
    if (on && off) {
        return Error{ErrorKind::invalid_argument, "--think and --no-think contradict each other",
                     "leave one of them out"};
    }
    if (on)
        return chat::Thinking::on;
    return off ? chat::Thinking::off : chat::Thinking::template_default;
}

} // namespace

Result<ModelOptions> read_model(const OptionValues& values, std::string model) {
    ModelOptions options;
    options.model = std::move(model);
    options.chat_template = values.text("chat-template").value_or("");
    ETNA_TRY(const auto context_tokens, values.integer("ctx-size"));
    ETNA_TRY(const auto kv_memory_bytes, values.size_bytes("kv-memory"));
    ETNA_TRY(const auto plan_as, values.choice("plan-as"));
    options.executor.context_tokens = context_tokens.value_or(0);
    ETNA_CHECK(read_cache_types(values, options.executor));
    options.executor.kv_memory_bytes = kv_memory_bytes.value_or(0);
    options.executor.plan_as = plan_as.value_or("");
    options.executor.device = values.text("device").value_or("");
    ETNA_TRY(DraftOptions drafts, read_drafts(values));
    options.draft = std::move(drafts.model);
    options.speculation = drafts.overrides;
    return options;
}

Result<GenerationOptions> read_generation(const OptionValues& values) {
    GenerationOptions options;
    ETNA_CHECK(read_length(values, options));
    options.prediction = values.text("prediction").value_or("");
    ETNA_TRY(options.logprobs, values.integer("logprobs"));
    ETNA_TRY(options.grammar, read_structure(values));
    ETNA_TRY(options.has_strict_tools, values.flag("tools-strict"));
    ETNA_TRY(options.has_lenient_tools, values.flag("lenient-schema"));
    if (options.grammar)
        options.grammar->is_lenient = options.has_lenient_tools;
    ETNA_TRY(options.sampling, read_sampling(values));
    ETNA_TRY(options.search, read_search(values));
    ETNA_TRY(const DraftOptions drafts, read_drafts(values));
    options.speculation = drafts.overrides;
    options.system = values.text("system").value_or("");
    ETNA_TRY(options.thinking, read_thinking(values));
    ETNA_TRY(const auto reasoning, values.choice("reasoning"));
    if (reasoning.value_or("auto") != "auto")
        options.reasoning = *reasoning == "show" ? ShowReasoning::always : ShowReasoning::never;
    options.tools_file = values.text("tools").value_or("");
    ETNA_TRY(const bool agrees, values.flag("yes"));
    options.tools_consent = agrees ? Consent::given : Consent::ask;
    constexpr uint32_t default_tool_time_s = 60;
    ETNA_TRY(const auto tool_time_s, values.integer("tool-timeout"));
    options.tool_time_limit = std::chrono::seconds(tool_time_s.value_or(default_tool_time_s));
    return options;
}

Result<generate::Request> request_for(const GenerationOptions& options, const generate::Model& model) {
    ETNA_CHECK(check_stop_tokens(options.stop_tokens, model.tokenizer().size()));
    generate::Request request;
    request.max_tokens = options.max_tokens;
    request.min_tokens = options.min_tokens;
    request.stop_tokens = options.stop_tokens;
    request.end_tokens = options.end_tokens;
    request.prediction = options.prediction;
    request.logprobs = options.logprobs;
    request.sampling = options.sampling.overrides;
    request.logit_bias = options.sampling.logit_bias;
    if (options.sampling.dry_breakers)
        request.dry_breakers = *options.sampling.dry_breakers;
    request.seed = options.sampling.seed;
    request.best_of = options.search.best_of;
    request.beams = options.search.beams;
    request.speculation = options.speculation;
    request.stop = options.stop;
    request.grammar = options.grammar;
    request.has_strict_tools = options.has_strict_tools;
    request.has_lenient_tools = options.has_lenient_tools;
    return request;
}

} // namespace etna::cli
