#pragma once

#include "cli/options/table/foreign.hpp"
#include "cli/options/table/generation.hpp"
#include "cli/options/table/search.hpp"
#include "core/generate/generation.hpp"

#include <array>

// The command line of `etna run`.
namespace etna::cli::table {

inline constexpr std::array run_positionals = {
    model_positional,
    Positional{.name = "PROMPT",
               .description =
                   "the prompt; text that comes through a pipe or from a file on standard input is used "
                   "too, after a blank line when both are given",
               .brief = "the prompt; text that comes through a pipe is used too",
               .presence = Presence::optional},
};

inline constexpr std::array run_length_options = {
    max_tokens_option(0, "stop after N tokens; 0, with --prompt-logprobs, is for the prompt alone"),
};

inline constexpr std::array run_prompt_options = {
    Option{.name = "file",
           .short_name = 'f',
           .value = "FILE",
           .kind = Kind::text,
           .description = "read the prompt from FILE, without the newline at its end; after PROMPT and a "
                          "blank line when both are given",
           .brief = "read the prompt from FILE"},
    Option{.name = "messages",
           .value = "FILE",
           .kind = Kind::text,
           .description =
               "go on with the conversation in FILE, a chat request as for `etna render`; its tools are "
               "offered too, and the prompt, if there is one, is the next message"},
    Option{.name = "raw",
           .description = "give the prompt to the model as it is, without the model's chat template",
           .brief = "go on with the prompt, without a chat template"},
};

inline constexpr std::array run_output_options = {
    Option{.name = "json",
           .description = "write one JSON object at the end instead of text",
           .brief = "write one JSON object at the end instead of text",
           .category = Category::output},
    Option{.name = "logprobs",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, generate::logprobs_max},
           .description = "tell each token's log-probability and those of the N likeliest tokens, before any "
                          "penalty or filter: in the JSON object in the shape of OpenAI's API, else as lines "
                          "on standard error behind the text",
           .category = Category::output},
    Option{.name = "prompt-logprobs",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, generate::logprobs_max},
           .description =
               "score the prompt: tell the log-probability and the rank of each of its tokens, and "
               "the N likeliest at its place: in the JSON object in the shape of vLLM's API, else "
               "as lines on standard error",
           .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "say on standard error which device is used and how long everything took",
           .brief = "say which device is used and how long everything took",
           .category = Category::output},
    help_option,
    help_all_option,
};

inline constexpr auto run_options =
    joined(run_length_options, length_options, structure_options, prediction_options, conversation_options,
           run_prompt_options, sampling_options, answers_options, search_options, device_options,
           speculation_options, run_output_options);

inline constexpr auto run_foreign =
    joined(foreign_model, foreign_device, foreign_answer, foreign_terminal, foreign_run);

inline constexpr std::array run_examples = {
    Example{"etna run demo \"What is 34 + 58?\"", "ask the tiny model that is built in"},
    Example{"etna run ./model.gguf \"Write a haiku about rain\"", "ask a model in a file"},
    Example{"cat notes.txt | etna run ./model.gguf \"Summarise these notes:\"", "argument, blank line, file"},
    Example{"etna run ./model.gguf \"Why?\" --system \"Answer in one sentence.\"", "with a system message"},
    Example{"etna run ./model.gguf \"A name for a cat?\" --n 5", "five answers"},
    Example{"etna run ./model.gguf \"Who wrote Faust?\" --json-schema author.json",
            "an answer for a program"},
    Example{"etna run ./model.gguf \"Is it raining?\" --choice yes --choice no", "one of two answers"},
    Example{"etna run ./model.gguf --raw -n 32 --temp 0 < prompt.txt",
            "the likeliest continuation, the same every time"},
    Example{"etna run ./model.gguf --raw -n 0 --prompt-logprobs 0 --json < text.txt",
            "how likely the model finds a text"},
};

} // namespace etna::cli::table
