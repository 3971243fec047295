#include "cli/options/run_options.hpp"

#include "cli/options/option_values.hpp"
#include "cli/prompt.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Refuses options of conversations with a raw prompt.
Status check_raw(const RunOptions& options) {
    const GenerationOptions& generation = options.generation;
    const char* option = nullptr;
    if (!generation.system.empty())
        option = "--system";
    if (!generation.tools_file.empty())
        option = "--tools";
    if (!options.messages_file.empty())
        option = "--messages";
    if (!options.model.chat_template.empty())
        option = "--chat-template";
    if (generation.thinking != chat::Thinking::template_default)
        option = generation.thinking == chat::Thinking::on ? "--think" : "--no-think";
    if (option == nullptr)
        return {};
    return Error{ErrorKind::invalid_argument, fmt::format("{} has no place in a --raw prompt", option),
                 "leave one of them out, or write the whole prompt in the model's own format"};
}

/// Refuses tools with several answers, and fewer candidates than answers.
Status check_answers(const RunOptions& options) {
    const SearchOptions& search = options.generation.search;
    if (options.answers > 1 && !options.generation.tools_file.empty()) {
        return Error{ErrorKind::invalid_argument,
                     "--n gives several answers, and --tools runs what one wants", "leave one of them out"};
    }
    if ((search.beams || search.best_of) && search.width() < options.answers) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} answers cannot be the best of {}", options.answers, search.width()),
                     fmt::format("let {} be at least --n", search.beams ? "--beams" : "--best-of")};
    }
    return {};
}

/// Refuses --max-tokens 0, unless only the prompt's log-probabilities are requested.
Status check_length(const RunOptions& options) {
    if (options.generation.max_tokens != 0U)
        return {};
    if (options.answers > 1) {
        return Error{ErrorKind::invalid_argument, "--max-tokens 0 asks for no answer, and --n for several",
                     "leave one of them out"};
    }
    if (options.prompt_logprobs)
        return {};
    return Error{ErrorKind::invalid_argument, "--max-tokens 0 asks for no answer",
                 "ask for one token at least, or with --prompt-logprobs for the prompt alone"};
}

} // namespace

Result<RunOptions> validate_run(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty() || arguments.positionals[0].empty()) {
        const bool has_prompt = arguments.positionals.size() > 1;
        return no_model(has_prompt ? arguments.positionals[1] : "What is 34 + 58?");
    }
    RunOptions options;
    const OptionValues values(command, arguments);
    ETNA_TRY(options.model, read_model(values, arguments.positionals[0]));
    ETNA_TRY(options.generation, read_generation(values));
    ETNA_TRY(const auto answers, values.integer("n"));
    options.answers = answers.value_or(1);
    ETNA_CHECK(check_answers(options));
    options.model.executor.sequences_max = std::max(options.answers, options.generation.search.width());
    if (arguments.positionals.size() > 1)
        options.prompt = arguments.positionals[1];
    options.prompt_file = values.text("file").value_or("");
    options.messages_file = values.text("messages").value_or("");
    ETNA_TRY(const bool raw, values.flag("raw"));
    options.prompt_form = raw ? PromptForm::raw : PromptForm::as_message;
    if (raw)
        ETNA_CHECK(check_raw(options));
    ETNA_TRY(options.prompt_logprobs, values.integer("prompt-logprobs"));
    ETNA_CHECK(check_length(options));
    ETNA_TRY(const bool json, values.flag("json"));
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    options.output_form = json ? OutputForm::json : OutputForm::text;
    options.verbosity = verbose ? Verbosity::verbose : Verbosity::quiet;
    return options;
}

} // namespace etna::cli
