#include "cli/run_options.hpp"

#include "cli/option_values.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// A system message needs the chat template that --raw leaves out.
Status read_prompt_form(const OptionValues& values, RunOptions& options) {
    ETNA_TRY(const bool raw, values.flag("raw"));
    options.prompt_form = raw ? PromptForm::raw : PromptForm::as_message;
    options.system = values.text("system").value_or("");
    if (raw && !options.system.empty()) {
        return Error{ErrorKind::invalid_argument, "--system has no place in a --raw prompt",
                     "leave one of them out, or write the whole prompt in the model's own format"};
    }
    return {};
}

generate::KvType kv_type_named(std::string_view name) {
    if (name == "f32")
        return generate::KvType::f32;
    return name == "q8_0" ? generate::KvType::q8_0 : generate::KvType::f16;
}

Status read_cache_types(const OptionValues& values, generate::ExecutorOptions& executor) {
    ETNA_TRY(const auto both, values.choice("kv-type"));
    ETNA_TRY(const auto key, values.choice("key-type"));
    ETNA_TRY(const auto value, values.choice("value-type"));
    const std::string usual = both.value_or("f16");
    executor.key_type = kv_type_named(key.value_or(usual));
    executor.value_type = kv_type_named(value.value_or(usual));
    return {};
}

Status read_device(const OptionValues& values, RunOptions& options) {
    ETNA_TRY(const auto context_tokens, values.integer("ctx-size"));
    ETNA_TRY(const auto kv_memory_bytes, values.size_bytes("kv-memory"));
    ETNA_TRY(const auto plan_as, values.choice("plan-as"));
    options.executor.context_tokens = context_tokens.value_or(0);
    ETNA_CHECK(read_cache_types(values, options.executor));
    options.executor.kv_memory_bytes = kv_memory_bytes.value_or(0);
    options.executor.plan_as = plan_as.value_or("");
    options.executor.device = values.text("device").value_or("");
    return {};
}

Status read_stops(const OptionValues& values, RunOptions& options) {
    for (const TypedValue& stop : values.texts("stop")) {
        if (stop.text.empty()) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{}: a stop string must not be empty", stop.origin)};
        }
        options.stop.push_back(stop.text);
    }
    return {};
}

} // namespace

Result<RunOptions> validate_run(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty() || arguments.positionals[0].empty()) {
        return Error{ErrorKind::invalid_argument, "no model is named",
                     "try `etna run demo \"Once upon a time\"`, or `etna run --help`"};
    }
    RunOptions options;
    options.model = arguments.positionals[0];
    if (arguments.positionals.size() > 1)
        options.prompt = arguments.positionals[1];
    const OptionValues values(command, arguments);
    ETNA_TRY(options.max_tokens, values.integer("max-tokens"));
    ETNA_CHECK(read_stops(values, options));
    ETNA_CHECK(read_device(values, options));
    ETNA_TRY(options.sampling, read_sampling(values));
    ETNA_CHECK(read_prompt_form(values, options));
    ETNA_TRY(options.logprobs, values.integer("logprobs"));
    ETNA_TRY(const bool json, values.flag("json"));
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    options.output_form = json ? OutputForm::json : OutputForm::text;
    options.verbosity = verbose ? Verbosity::verbose : Verbosity::quiet;
    return options;
}

} // namespace etna::cli
