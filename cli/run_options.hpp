#pragma once

#include "cli/command_line.hpp"
#include "cli/sampling_options.hpp"
#include "core/generate/model.hpp"

#include <optional>
#include <string>
#include <vector>

namespace etna::cli {

enum class PromptForm { as_message, raw };
enum class OutputForm { text, json };
enum class Verbosity { quiet, verbose };

/// `etna run`'s command line, checked.
struct RunOptions {
    std::string model;
    std::optional<std::string> prompt;
    std::optional<uint32_t> max_tokens;
    std::vector<std::string> stop;
    std::string system; ///< empty: no system message
    PromptForm prompt_form = PromptForm::as_message;
    SamplingOptions sampling;
    std::optional<uint32_t> logprobs;   ///< for how many tokens besides the chosen one; empty: none are told
    generate::ExecutorOptions executor; ///< without progress
    OutputForm output_form = OutputForm::text;
    Verbosity verbosity = Verbosity::quiet;
};

/// Checks kinds, ranges and what is missing. Errors: invalid_argument.
Result<RunOptions> validate_run(const Command& command, const TypedArguments& arguments);

} // namespace etna::cli
