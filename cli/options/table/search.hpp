#pragma once

#include "cli/options/option_table.hpp"

#include <array>
#include <cstdint>
#include <string_view>

// Options of speculative decoding, for every command that generates text, and of the search for the best
// answer.
namespace etna::cli::table {

inline constexpr double drafts_max = 32; ///< as engine::drafts_max
inline constexpr double ngram_max = 16;  ///< as engine::ngram_max
inline constexpr double best_of_max = 20;
inline constexpr double answers_max = 128;
inline constexpr double length_penalty_max = 10;     ///< as engine::length_penalty_max
inline constexpr double diversity_penalty_max = 100; ///< as engine::diversity_penalty_max

inline constexpr std::array<std::string_view, 3> early_stopping_choices = {"no", "yes", "never"};

/// Whether other sources override the two mutually exclusive options: on a server, a request and the model's
/// generation_config.json do.
enum class DraftsBy : uint8_t { command_line, server };

constexpr std::array<Option, 5> speculation_options_of(DraftsBy by) {
    const bool is_server = by == DraftsBy::server;
    return {
        Option{
            .name = "draft",
            .value = "MODEL",
            .kind = Kind::text,
            .description =
                "let a smaller model of the same vocabulary draft tokens, which the model checks several at "
                "a time: faster where it is often right, and never another answer",
            .category = Category::device},
        Option{
            .name = "prompt-lookup",
            .description =
                "draft what followed when the text was like this before: for answers that repeat the prompt",
            .category = Category::device},
        Option{.name = "num-assistant-tokens",
               .value = "N",
               .kind = Kind::integer,
               .range = {0, drafts_max},
               .default_text = is_server ? "5" : "the model's own, else 5",
               .description = is_server
                                  ? "draft at most N tokens at a time where neither a request nor the "
                                    "generation_config.json beside the model says how many; 0 drafts none"
                                  : "draft at most N tokens at a time; 0 drafts none",
               .category = Category::device},
        Option{.name = "assistant-confidence-threshold",
               .value = "P",
               .kind = Kind::number,
               .range = {0, 1},
               .description =
                   is_server
                       ? "instead, in the same place: draft as long as the draft model gives its token at "
                         "least probability P"
                       : "instead: draft as long as the draft model gives its token at least probability P",
               .category = Category::device},
        Option{.name = "max-ngram-size",
               .value = "N",
               .kind = Kind::integer,
               .range = {1, ngram_max},
               .default_text = "3",
               .description = "the longest run of tokens that --prompt-lookup looks for",
               .category = Category::device},
    };
}

inline constexpr auto speculation_options = speculation_options_of(DraftsBy::command_line);

inline constexpr std::array answers_options = {
    Option{.name = "n",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, answers_max},
           .default_text = "1",
           .description =
               "give N answers: each is written when it is whole, with an empty line between two, and with "
               "--json each is an object on a line of its own",
           .category = Category::generation},
};

inline constexpr std::array search_options = {
    Option{.name = "best-of",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, best_of_max},
           .description = "sample N answers and give the likeliest",
           .category = Category::generation},
    Option{.name = "beams",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, best_of_max},
           .description = "search for the likeliest answer with N beams instead of sampling",
           .category = Category::generation},
    Option{.name = "beam-groups",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, best_of_max},
           .default_text = "1",
           .description = "beams in N groups that avoid each other's tokens",
           .category = Category::generation},
    Option{.name = "diversity-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {0, diversity_penalty_max},
           .default_text = "1",
           .description = "taken off a beam for each group that took the same token",
           .category = Category::generation},
    Option{.name = "length-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-length_penalty_max, length_penalty_max},
           .default_text = "1",
           .description =
               "a beam's log-probability is divided by its length to the power of X: higher prefers longer "
               "answers",
           .category = Category::generation},
    Option{.name = "early-stopping",
           .value = "WHEN",
           .kind = Kind::choice,
           .choices = early_stopping_choices,
           .default_text = "no",
           .description =
               "end a beam search as soon as there are enough whole answers (yes), when better ones are "
               "unlikely (no), or impossible (never)",
           .category = Category::generation},
};

} // namespace etna::cli::table
