#include "cli/run_options.hpp"

#include "cli/option_values.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

Status read_sampling(const OptionValues& values, RunOptions& options) {
    ETNA_TRY(options.sampling.temperature, values.number("temp"));
    ETNA_TRY(options.sampling.top_k, values.integer("top-k"));
    ETNA_TRY(options.sampling.top_p, values.number("top-p"));
    ETNA_TRY(options.sampling.min_p, values.number("min-p"));
    ETNA_TRY(options.seed, values.integer("seed"));
    return {};
}

Status read_device(const OptionValues& values, RunOptions& options) {
    ETNA_TRY(const auto context_tokens, values.integer("ctx-size"));
    ETNA_TRY(const auto kv_type, values.choice("kv-type"));
    ETNA_TRY(const auto kv_memory_bytes, values.size_bytes("kv-memory"));
    ETNA_TRY(const auto plan_as, values.choice("plan-as"));
    options.executor.context_tokens = context_tokens.value_or(0);
    options.executor.kv_type = kv_type == "f32" ? generate::KvType::f32 : generate::KvType::f16;
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
    ETNA_CHECK(read_sampling(values, options));
    ETNA_CHECK(read_device(values, options));
    ETNA_TRY(const bool raw, values.flag("raw"));
    ETNA_TRY(const bool json, values.flag("json"));
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    options.prompt_form = raw ? PromptForm::raw : PromptForm::as_message;
    options.output_form = json ? OutputForm::json : OutputForm::text;
    options.verbosity = verbose ? Verbosity::verbose : Verbosity::quiet;
    return options;
}

} // namespace etna::cli
