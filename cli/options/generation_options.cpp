#include "cli/options/generation_options.hpp"

#include "cli/options/grammar_check.hpp"
#include "cli/text_io.hpp"
#include "core/model/config.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double context_tokens_max = model::context_max;
constexpr double host_layers_max = 10000; ///< more than any model has; see all_host_layers
constexpr double size_min_bytes = 1 << 16;
constexpr double size_max_bytes = 1ULL << 50;

constexpr std::array<std::string_view, 3> kv_types = {"f16", "f32", "q8_0"};
constexpr std::array<std::string_view, 4> vendors = {"nvidia", "amd", "intel", "lavapipe"};
constexpr std::array<std::string_view, 3> reasoning_choices = {"show", "hide", "auto"};

constexpr std::array length_table = {
    Option{.name = "min-tokens",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "0",
           .description = "generate at least N tokens before the model or a stop can end the answer"},
    Option{.name = "stop",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "stop before writing TEXT; may be repeated",
           .repeat = Repeat::collect},
    stop_in_reasoning_option,
    Option{.name = "stop-token-id",
           .value = "ID",
           .kind = Kind::integer,
           .range = {0, uint32_max},
           .description = "stop before the token ID, as printed by `etna tokenize`; may be repeated",
           .repeat = Repeat::collect},
    Option{.name = "ignore-eos", .description = "continue past the model's end tokens"},
};

constexpr std::array structure_table = {
    Option{.name = "json-schema",
           .value = "SCHEMA",
           .kind = Kind::text,
           .description = "constrain the answer to a JSON Schema, a file or `{...}`; a keyword that cannot "
                          "be enforced is an error",
           .brief = "constrain the answer to a JSON Schema"},
    Option{.name = "lenient-schema",
           .description = "skip JSON Schema keywords that cannot be enforced, also for tool arguments"},
    json_whitespace_option,
    Option{.name = "tools-strict", .description = tools_strict_text},
    Option{.name = "grammar",
           .value = "FILE",
           .kind = Kind::text,
           .description = "constrain the answer to a GBNF (llama.cpp) or Lark grammar; a file, or the "
                          "grammar itself if it contains `::=`"},
    Option{.name = "regex",
           .value = "PATTERN",
           .kind = Kind::text,
           .description = "constrain the complete answer to an ECMAScript regular expression"},
    Option{.name = "choice",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "constrain the answer to one of several texts; repeat the option for each text",
           .repeat = Repeat::collect},
};

constexpr std::array prediction_table = {
    Option{.name = "prediction",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "draft from TEXT, a prediction of the answer; faster where it matches, and the "
                          "answer never changes"},
};

constexpr std::array conversation_table = {
    Option{.name = "system",
           .value = "TEXT",
           .kind = Kind::text,
           .description =
               "put TEXT before the prompt as the system message, through the model's chat template",
           .brief = "set the system message"},
    chat_template_option,
    Option{.name = "think",
           .description = "let the model think before it answers, if its template has a switch for that",
           .brief = "let the model think before it answers"},
    Option{.name = "no-think",
           .description = "let the model answer without thinking",
           .brief = "let the model answer without thinking"},
    reasoning_budget_option,
    reasoning_budget_message_option,
    Option{.name = "parse-special",
           .description =
               "read the names of control tokens in messages, such as <|im_end|>, as these tokens; "
               "by default they are text"},
    Option{.name = "reasoning",
           .value = "WHEN",
           .kind = Kind::choice,
           .choices = reasoning_choices,
           .default_text = "auto",
           .description = "show the model's reasoning on standard error; auto shows it on a terminal only",
           .category = Category::output},
    Option{.name = "tools",
           .value = "FILE",
           .kind = Kind::text,
           .description = "offer the tools in this JSON file, a list as in OpenAI's API; a tool with a "
                          "`command` runs it in the shell after you agree",
           .brief = "offer the tools in this JSON file",
           .file = FileUse::input},
    Option{.name = "yes",
           .description = "run tool commands without asking; only those of files that you name, and only the "
                          "command line sets it",
           .settable = Settable::command_line},
    Option{.name = "tool-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, day_s},
           .default_text = "60",
           .description = "stop tool commands after this time, and report that to the model; 0: no limit"},
};

constexpr std::array device_rows = {
    Option{.name = "device",
           .value = "DEVICE",
           .kind = Kind::text,
           .default_text = "the best GPU, else the CPU",
           .description = "Vulkan device, by number, UUID or part of its name",
           .brief = "device to run on; `etna devices` lists them"},
    Option{.name = "ctx-size",
           .short_name = 'c',
           .value = "N",
           .kind = Kind::integer,
           .range = {1, context_tokens_max},
           .default_text = "the model's own, as far as memory allows",
           .absence = "0",
           .description = "maximum tokens of prompt and answer together",
           .brief = "maximum tokens of prompt and answer together"},
    Option{.name = "kv-type",
           .value = "TYPE",
           .kind = Kind::choice,
           .choices = kv_types,
           .default_text = "f16, or q8_0 if the context needs it",
           .description = "number format of the KV cache; q8_0 takes half the memory of f16"},
    Option{.name = "key-type",
           .value = "TYPE",
           .kind = Kind::choice,
           .choices = kv_types,
           .default_text = "as --kv-type",
           .description = "number format of the cached keys"},
    Option{.name = "value-type",
           .value = "TYPE",
           .kind = Kind::choice,
           .choices = kv_types,
           .default_text = "as --kv-type",
           .description = "number format of the cached values"},
    Option{.name = "kv-memory",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {size_min_bytes, size_max_bytes},
           .default_text = "as the context needs",
           .description = "memory of the KV cache in bytes, or with K, M, G or T; powers of 1024"},
    Option{.name = "state-cache",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {size_min_bytes, size_max_bytes},
           .default_text = "an eighth of the KV cache",
           .description = "memory for snapshots of recurrent layers, from which later prompts continue"},
    Option{.name = "experts-in-host",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, host_layers_max},
           .default_text = "as few as let the model fit",
           .absence = "auto",
           .description =
               "put the experts of the last N layers in host memory, from which the GPU reads them: "
               "larger mixtures fit, and generate more slowly"},
    Option{.name = "no-mtp",
           .description =
               "leave out the model's own draft head (multi-token prediction), which otherwise drafts "
               "without --draft; the answer never changes. It is left out, too, with --draft, and where a "
               "model fits only without it"},
    precision_option,
    Option{.name = "plan-as",
           .value = "VENDOR",
           .kind = Kind::choice,
           .choices = vendors,
           .description = "select kernels as for a device of VENDOR",
           .visibility = Visibility::hidden},
};

constexpr auto device_table = in_category(Category::device, device_rows);

using grammar::Description;
using grammar::Notation;

constexpr std::size_t grammar_file_bytes_max = std::size_t{4} << 20;

/// Returns whether `text` is a schema: a JSON object, whose brace does not start a file name.
bool is_json(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \n\r\t");
    return first != std::string_view::npos && text[first] == '{';
}

/// Returns whether `text` has a GBNF rule, as in llama.cpp's --grammar; file names do not contain "::=".
bool is_grammar(std::string_view text) {
    return text.find("::=") != std::string_view::npos;
}

Description one_of(const std::vector<TypedValue>& texts) {
    Description description = {.notation = Notation::choices};
    for (const TypedValue& text : texts)
        description.choices.push_back(text.text);
    return description;
}

/// Precondition: `given` is not empty.
Result<Description> description_of(std::string_view option, const std::vector<TypedValue>& given) {
    if (option == "choice")
        return one_of(given);
    const std::string& value = given.back().text;
    if (option == "regex")
        return Description{.notation = Notation::regex, .text = value};
    const bool is_schema = option == "json-schema";
    const Notation notation = is_schema ? Notation::json_schema : Notation::gbnf;
    Description description = {.notation = notation, .text = value, .place = fmt::format("--{}", option)};
    if (is_schema ? !is_json(value) : !is_grammar(value)) {
        auto text = read_text_file(value, grammar_file_bytes_max);
        if (!text) {
            return invalid_argument(fmt::format("{}: {}", given.back().origin, text.error().message),
                                    is_schema ? "name a file, or give the schema itself, `{...}`"
                                              : "name a file, or give the grammar itself, `root ::= ...`");
        }
        description.text = std::move(*text);
    }
    return description;
}

/// Returns the grammar of the answer given by `--json-schema`, `--grammar`, `--regex` or `--choice`; empty if
/// none is given. Reads the files they name. Errors: invalid_argument (more than one of them, or a file that
/// cannot be read).
Result<std::optional<Description>> read_structure(const OptionValues& values) {
    std::optional<Description> found;
    std::string_view found_by;
    for (const std::string_view option : {"json-schema", "grammar", "regex", "choice"}) {
        const std::vector<TypedValue> given = values.texts(option);
        if (given.empty())
            continue;
        if (found) {
            return invalid_argument(fmt::format("--{} and --{} exclude each other", found_by, option),
                                    "remove one of them");
        }
        ETNA_TRY(found, description_of(option, given));
        found_by = option;
    }
    return found;
}

runtime::KvType kv_type_named(std::string_view name) {
    if (name == "f32")
        return runtime::KvType::f32;
    return name == "q8_0" ? runtime::KvType::q8_0 : runtime::KvType::f16;
}

Status read_cache_types(const OptionValues& values, runtime::ExecutorOptions& executor) {
    ETNA_TRY(const auto both, values.choice("kv-type"));
    ETNA_TRY(const auto key, values.choice("key-type"));
    ETNA_TRY(const auto value, values.choice("value-type"));
    const std::string default_type = both.value_or("f16");
    executor.key_type = kv_type_named(key.value_or(default_type));
    executor.value_type = kv_type_named(value.value_or(default_type));
    executor.adapts_kv_type = !both && !key && !value;
    return {};
}

Result<std::vector<std::string>> read_stops(const OptionValues& values) {
    std::vector<std::string> stops;
    for (const TypedValue& stop : values.texts("stop")) {
        if (stop.text.empty())
            return invalid_argument(fmt::format("{}: a stop string must not be empty", stop.origin));
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
        return invalid_argument(fmt::format("--min-tokens {} is more than --max-tokens {}",
                                            options.min_tokens, *options.max_tokens),
                                "lower --min-tokens or raise --max-tokens");
    }
    ETNA_TRY(options.stop, read_stops(values));
    ETNA_TRY(options.stop_scope, read_stop_scope(values));
    ETNA_TRY(options.stop_tokens, values.integers("stop-token-id"));
    ETNA_TRY(const bool ignores_end, values.flag("ignore-eos"));
    options.end_tokens = ignores_end ? generate::EndTokens::ignore : generate::EndTokens::stop;
    return {};
}

/// Checks the ids here, because the engine does not.
Status check_stop_tokens(const std::vector<TokenId>& tokens, uint32_t vocabulary) {
    for (const TokenId token : tokens) {
        if (token >= vocabulary) {
            return invalid_argument(
                fmt::format("--stop-token-id: token {} is outside the vocabulary of {}", token, vocabulary),
                fmt::format("use token ids from 0 to {}", vocabulary - 1));
        }
    }
    return {};
}

Result<chat::Thinking> read_thinking(const OptionValues& values) {
    ETNA_TRY(const bool on, values.flag("think"));
    ETNA_TRY(const bool off, values.flag("no-think"));
    if (on && off)
        return invalid_argument("--think and --no-think contradict each other", "remove one of them");
    if (on)
        return chat::Thinking::on;
    return off ? chat::Thinking::off : chat::Thinking::template_default;
}

} // namespace

std::span<const Option> length_options() {
    return length_table;
}

std::span<const Option> structure_options() {
    return structure_table;
}

std::span<const Option> prediction_options() {
    return prediction_table;
}

std::span<const Option> conversation_options() {
    return conversation_table;
}

std::span<const Option> device_options() {
    return device_table;
}

Result<kernels::Precision> read_precision(const OptionValues& values) {
    ETNA_TRY(const auto name, values.choice("precision"));
    return kernels::precision_named(name.value_or("")).value_or(kernels::Precision::exact);
}

Result<generate::StopScope> read_stop_scope(const OptionValues& values) {
    ETNA_TRY(const bool in_reasoning, values.flag("stop-in-reasoning"));
    return in_reasoning ? generate::StopScope::all_text : generate::StopScope::content;
}

Result<std::optional<generate::ReasoningLimit>> read_reasoning_limit(const OptionValues& values) {
    ETNA_TRY(const auto tokens, values.integer("reasoning-budget"));
    if (!tokens)
        return std::optional<generate::ReasoningLimit>();
    return std::optional(generate::ReasoningLimit{
        .tokens_max = tokens, .message = values.text("reasoning-budget-message").value_or("")});
}

Result<grammar::JsonSpacing> read_json_spacing(const OptionValues& values) {
    ETNA_TRY(const auto name, values.choice("json-whitespace"));
    const auto& names = grammar::json_spacings;
    const auto* const found = std::find(names.begin(), names.end(), name.value_or("single"));
    return static_cast<grammar::JsonSpacing>(found - names.begin());
}

Status read_device(const OptionValues& values, runtime::ExecutorOptions& executor) {
    ETNA_TRY(const auto context_tokens, values.integer("ctx-size"));
    ETNA_TRY(const auto kv_memory_bytes, values.size_bytes("kv-memory"));
    ETNA_TRY(const auto state_cache_bytes, values.size_bytes("state-cache"));
    ETNA_TRY(executor.precision, read_precision(values));
    ETNA_TRY(const auto plan_as, values.choice("plan-as"));
    executor.context_tokens = context_tokens.value_or(0);
    ETNA_CHECK(read_cache_types(values, executor));
    executor.kv_memory_bytes = kv_memory_bytes.value_or(0);
    executor.state_cache_bytes = state_cache_bytes.value_or(0);
    ETNA_TRY(executor.host_expert_layers, values.integer("experts-in-host"));
    ETNA_TRY(const bool has_no_head, values.flag("no-mtp"));
    executor.has_draft_head = !has_no_head;
    executor.plan_as = plan_as.value_or("");
    executor.device = values.text("device").value_or("");
    return {};
}

Result<ModelOptions> read_model(const OptionValues& values, std::string model) {
    ModelOptions options;
    options.model = std::move(model);
    options.chat_template = values.text("chat-template").value_or("");
    ETNA_TRY(options.hub, read_hub(values));
    ETNA_CHECK(read_device(values, options.executor));
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
    ETNA_TRY(options.json_spacing, read_json_spacing(values));
    ETNA_TRY(options.has_strict_tools, values.flag("tools-strict"));
    ETNA_TRY(options.has_lenient_tools, values.flag("lenient-schema"));
    if (options.grammar) {
        options.grammar->is_lenient = options.has_lenient_tools;
        ETNA_CHECK(check_grammar(*options.grammar));
    }
    ETNA_TRY(options.sampling, read_sampling(values));
    ETNA_TRY(options.search, read_search(values));
    ETNA_TRY(const DraftOptions drafts, read_drafts(values));
    options.speculation = drafts.overrides;
    options.system = values.text("system").value_or("");
    ETNA_TRY(options.thinking, read_thinking(values));
    ETNA_TRY(options.reasoning_limit, read_reasoning_limit(values));
    ETNA_TRY(const bool parses_special, values.flag("parse-special"));
    if (parses_special)
        options.spelled_tokens = chat::SpelledTokens::all;
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
    ETNA_CHECK(check_stop_tokens(options.stop_tokens, model.file().tokenizer.size()));
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
    request.stop_scope = options.stop_scope;
    request.json_spacing = options.json_spacing;
    request.reasoning = options.reasoning_limit;
    request.grammar = options.grammar;
    request.has_strict_tools = options.has_strict_tools;
    request.has_lenient_tools = options.has_lenient_tools;
    return request;
}

} // namespace etna::cli
