#pragma once

#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/generation_options.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace etna::cli {

enum class PromptForm { as_message, raw };
enum class OutputForm { text, json };

/// The validated command line of `etna run`.
struct RunOptions {
    ModelOptions model;
    GenerationOptions generation;
    std::optional<std::string> prompt;
    std::filesystem::path prompt_file;   ///< empty: none
    std::filesystem::path messages_file; ///< empty: none
    PromptForm prompt_form = PromptForm::as_message;
    uint32_t answers = 1;
    std::optional<uint32_t> prompt_logprobs; ///< number of top tokens for each prompt token, in addition to
                                             ///< the token itself; empty: none
    OutputForm output_form = OutputForm::text;
    Verbosity verbosity = Verbosity::quiet;
};

/// Validates kinds, ranges and missing values. Errors: invalid_argument.
Result<RunOptions> validate_run(const Command& command, const TypedArguments& arguments);

} // namespace etna::cli
