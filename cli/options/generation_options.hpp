#pragma once

#include "cli/options/hub_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/options/search_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/chat/conversation.hpp"
#include "core/generate/generation.hpp"
#include "core/generate/model.hpp"
#include "core/grammar/grammar_cache.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// The model, its device and its chat template.
struct ModelOptions {
    std::string model;
    std::string chat_template; ///< a name or a file; empty: the model's own
    std::string draft;         ///< draft model; empty: none
    HubOptions hub;
    runtime::ExecutorOptions executor;             ///< without progress
    generate::SpeculationOverrides speculation;    ///< used if neither the request nor the model sets it
    std::optional<generate::Pooling> pooling = {}; ///< of embeddings; empty: the model's
};

/// --precision of kernels, which every command that loads a model has.
constexpr std::array<std::string_view, 2> precisions = {"exact", "fast"};
constexpr Option precision_option{
    .name = "precision",
    .value = "PRECISION",
    .kind = Kind::choice,
    .choices = precisions,
    .default_text = "exact",
    .description = "of generation on GPUs: `exact` rounds the inputs of matrices to 16 bits; `fast` those of "
                   "quantised matrices (not IQ4 or MXFP4) to 8 bits, on devices with integer dot "
                   "products",
    .category = Category::device};
/// Its value, or exact.
Result<kernels::Precision> read_precision(const OptionValues& values);

enum class Consent { ask, given };
enum class ShowReasoning { always, never, on_terminal };

/// The request's options other than the prompt.
struct GenerationOptions {
    std::optional<uint32_t> max_tokens;
    uint32_t min_tokens = 0;
    std::vector<std::string> stop;
    generate::StopScope stop_scope = generate::StopScope::content;
    std::vector<TokenId> stop_tokens;
    generate::EndTokens end_tokens = generate::EndTokens::stop;
    std::string prediction;                      ///< predicted answer; empty: none
    std::optional<grammar::Description> grammar; ///< grammar of the answer
    grammar::JsonSpacing json_spacing = grammar::JsonSpacing::single;
    bool has_strict_tools = false; ///< see generate::Request
    bool has_lenient_tools = false;
    SamplingOptions sampling;
    SearchOptions search;
    generate::SpeculationOverrides speculation; ///< the caller's; overrides the model folder's
    std::optional<uint32_t>
        logprobs;       ///< top tokens in addition to the chosen one; empty: no log-probabilities
    std::string system; ///< empty: no system message
    chat::Thinking thinking = chat::Thinking::template_default;
    chat::SpelledTokens spelled_tokens = chat::SpelledTokens::user_defined; ///< in messages
    ShowReasoning reasoning = ShowReasoning::on_terminal;
    std::optional<generate::ReasoningLimit> reasoning_limit = {};
    std::filesystem::path tools_file; ///< empty: no tools
    Consent tools_consent = Consent::ask;
    std::chrono::seconds tool_time_limit{0}; ///< per call; 0: no limit
};

/// Tables of the options that commands with a model share.
std::span<const Option> length_options(); ///< without --max-tokens; see max_tokens_option()
std::span<const Option> structure_options();
std::span<const Option> prediction_options();
std::span<const Option> conversation_options();
std::span<const Option> device_options();

/// Returns --max-tokens. `min` is 0 if the command can process a prompt without an answer.
constexpr Option max_tokens_option(double min, std::string_view description) {
    return {.name = "max-tokens",
            .short_name = 'n',
            .value = "N",
            .kind = Kind::integer,
            .range = {min, int32_max},
            .default_text = "until the model ends or the context is full",
            .absence = "-1",
            .description = description,
            .brief = "stop after N tokens"};
}

inline constexpr Option chat_template_option = {
    .name = "chat-template",
    .value = "TEMPLATE",
    .kind = Kind::text,
    .default_text = "the model's own",
    .description = "render the conversation with this chat template; a Jinja file, a variant in the model's "
                   "file, or chatml, llama2, llama3, gemma, mistral, phi3, zephyr or vicuna",
    .file = FileUse::name_or_input};

inline constexpr std::string_view tools_strict_text =
    "constrain the arguments of all tools to their schemas, as \"strict\": true does for one; otherwise only "
    "to a JSON object";

/// --stop-in-reasoning, which every command that generates has.
constexpr Option stop_in_reasoning_option = {
    .name = "stop-in-reasoning",
    .description = "let stop strings act in reasoning and tool calls, too; by default they act in the "
                   "content alone"};
/// Its value.
Result<generate::StopScope> read_stop_scope(const OptionValues& values);

/// --reasoning-budget and its message, which every command that generates has.
constexpr Option reasoning_budget_option = {
    .name = "reasoning-budget",
    .value = "N",
    .kind = Kind::integer,
    .range = {0, int32_max},
    .default_text = "no limit",
    .absence = "-1",
    .description = "close the model's reasoning after N tokens, so that the answer follows; 0: at once",
    .brief = "limit the reasoning to N tokens"};
constexpr Option reasoning_budget_message_option = {
    .name = "reasoning-budget-message",
    .value = "TEXT",
    .kind = Kind::text,
    .description = "text added to reasoning that its budget ends, such as \"I will answer now.\""};
/// Their values; empty: no limit.
Result<std::optional<generate::ReasoningLimit>> read_reasoning_limit(const OptionValues& values);

/// --json-whitespace, which every command that generates has.
constexpr Option json_whitespace_option = {
    .name = "json-whitespace",
    .value = "AMOUNT",
    .kind = Kind::choice,
    .choices = grammar::json_spacings,
    .default_text = "single",
    .description =
        "white space between the tokens of JSON in answers with a schema and in arguments of strict "
        "tools: none, at most one space or newline, or also indentation"};
/// Its value, or JsonSpacing::single.
Result<grammar::JsonSpacing> read_json_spacing(const OptionValues& values);

/// Reads device_options(). Errors: invalid_argument.
Status read_device(const OptionValues& values, runtime::ExecutorOptions& executor);

/// Read the options that commands with a model share. Preconditions: the command has them. Errors:
/// invalid_argument.
Result<ModelOptions> read_model(const OptionValues& values, std::string model);
Result<GenerationOptions> read_generation(const OptionValues& values);

/// Returns a request without a prompt. Errors: invalid_argument (the model has no such stop token).
Result<generate::Request> request_for(const GenerationOptions& options, const generate::Model& model);

} // namespace etna::cli
