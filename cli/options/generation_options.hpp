#pragma once

#include "cli/options/option_values.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/options/search_options.hpp"
#include "core/chat/conversation.hpp"
#include "core/generate/generation.hpp"
#include "core/generate/model.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace etna::cli {

enum class Verbosity { quiet, verbose };

/// The model, its device and its chat template.
struct ModelOptions {
    std::string model;
    std::string chat_template;                  ///< a name or a file; empty: the model's own
    std::string draft;                          ///< draft model; empty: none
    runtime::ExecutorOptions executor;          ///< without progress
    generate::SpeculationOverrides speculation; ///< used if neither the request nor the model sets it
};

enum class Consent { ask, given };
enum class ShowReasoning { always, never, on_terminal };

/// The request's options other than the prompt.
struct GenerationOptions {
    std::optional<uint32_t> max_tokens;
    uint32_t min_tokens = 0;
    std::vector<std::string> stop;
    std::vector<TokenId> stop_tokens;
    generate::EndTokens end_tokens = generate::EndTokens::stop;
    std::string prediction;                      ///< predicted answer; empty: none
    std::optional<grammar::Description> grammar; ///< grammar of the answer
    bool has_strict_tools = false;               ///< see generate::Request
    bool has_lenient_tools = false;
    SamplingOptions sampling;
    SearchOptions search;
    generate::SpeculationOverrides speculation; ///< the caller's; overrides the model folder's
    std::optional<uint32_t> logprobs; ///< top tokens besides the chosen one; empty: no log-probabilities
    std::string system;               ///< empty: no system message
    chat::Thinking thinking = chat::Thinking::template_default;
    ShowReasoning reasoning = ShowReasoning::on_terminal;
    std::filesystem::path tools_file; ///< empty: no tools
    Consent tools_consent = Consent::ask;
    std::chrono::seconds tool_time_limit{0}; ///< per call; 0: no limit
};

/// Read the options that commands with a model share. Preconditions: the command has them. Errors:
/// invalid_argument.
Result<ModelOptions> read_model(const OptionValues& values, std::string model);
Result<GenerationOptions> read_generation(const OptionValues& values);

/// Returns a request without a prompt. Errors: invalid_argument (the model has no such stop token).
Result<generate::Request> request_for(const GenerationOptions& options, const generate::Model& model);

} // namespace etna::cli
