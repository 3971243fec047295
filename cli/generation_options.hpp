#pragma once

#include "cli/option_values.hpp"
#include "cli/sampling_options.hpp"
#include "cli/search_options.hpp"
#include "core/chat/conversation.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/model.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace etna::cli {

enum class Verbosity { quiet, verbose };

/// Which model, on what, and with which template.
struct ModelOptions {
    std::string model;
    std::string chat_template;          ///< a name or a file; empty: the model's own
    std::string draft;                  ///< a model that drafts for it; empty: none
    generate::ExecutorOptions executor; ///< without progress
};

enum class Consent { ask, given };
enum class ShowReasoning { always, never, on_terminal };

/// What it is asked for besides the prompt.
struct GenerationOptions {
    std::optional<uint32_t> max_tokens;
    uint32_t min_tokens = 0;
    std::vector<std::string> stop;
    std::vector<TokenId> stop_tokens;
    generate::EndTokens end_tokens = generate::EndTokens::end;
    std::string prediction;                      ///< what the answer may be; empty: nobody knows
    std::optional<grammar::Description> grammar; ///< what the answer is kept to
    bool has_strict_tools = false;               ///< see generate::Request
    bool has_lenient_tools = false;
    SamplingOptions sampling;
    SearchOptions search;
    generate::SpeculationWishes speculation; ///< the caller's own, before what the model's folder says
    std::optional<uint32_t> logprobs; ///< for how many tokens besides the chosen one; empty: none are told
    std::string system;               ///< empty: no system message
    chat::Thinking thinking = chat::Thinking::as_template_says;
    ShowReasoning reasoning = ShowReasoning::on_terminal;
    std::filesystem::path tools_file; ///< empty: no tools
    Consent tools_consent = Consent::ask;
    std::chrono::seconds tool_time_limit{0}; ///< of one call; 0: none
};

/// Options of the tables that commands with a model share. Preconditions: the command has them. Errors:
/// invalid_argument.
Result<ModelOptions> read_model(const OptionValues& values, std::string model);
Result<GenerationOptions> read_generation(const OptionValues& values);

/// A request without a prompt. Error: invalid_argument (the model has no such stop token).
Result<generate::Request> request_for(const GenerationOptions& options, const generate::Model& model);

} // namespace etna::cli
