#pragma once

#include "cli/options/table/common.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

// Options of every command that generates text.
namespace etna::cli::table {

inline constexpr double int32_max = std::numeric_limits<int32_t>::max();
inline constexpr double uint32_max = std::numeric_limits<uint32_t>::max();
inline constexpr double temperature_max = 100;
inline constexpr double sigmas_max = 1000;
inline constexpr double penalty_max = 100;            ///< same as sampling::check()
inline constexpr double context_tokens_max = 1 << 26; ///< same as model::context_max
inline constexpr double size_min_bytes = 1 << 16;
inline constexpr double size_max_bytes = 1ULL << 50;

inline constexpr std::array<std::string_view, 3> kv_types = {"f16", "f32", "q8_0"};
inline constexpr std::array<std::string_view, 4> vendors = {"nvidia", "amd", "intel", "lavapipe"};

/// Concatenates arrays.
template <class Item, std::size_t... sizes>
constexpr auto joined(const std::array<Item, sizes>&... parts) {
    std::array<Item, (sizes + ...)> all{};
    auto at = all.begin();
    ((at = std::copy(parts.begin(), parts.end(), at)), ...);
    return all;
}

/// `least` is 0 if the command can process a prompt without an answer.
constexpr Option max_tokens_option(double least, std::string_view description) {
    return {.name = "max-tokens",
            .short_name = 'n',
            .value = "N",
            .kind = Kind::integer,
            .range = {least, int32_max},
            .default_text = "until the model ends or the context is full",
            .absence = "-1",
            .description = description,
            .brief = "stop after N tokens"};
}

inline constexpr std::array length_options = {
    Option{.name = "min-tokens",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "0",
           .description = "neither the model nor a stop ends the answer before N tokens"},
    Option{.name = "stop",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "stop before TEXT would be written; may be given several times",
           .repeat = Repeat::collect},
    Option{.name = "stop-token-id",
           .value = "ID",
           .kind = Kind::integer,
           .range = {0, uint32_max},
           .description =
               "stop before the token ID, as `etna tokenize` prints it; may be given several times",
           .repeat = Repeat::collect},
    Option{.name = "ignore-eos",
           .description = "go on behind the tokens with which the model ends its answer"},
};

inline constexpr std::string_view tools_strict_text =
    "keep the arguments of all tools to their schemas, as \"strict\": true does for one; without, they are "
    "kept to be a JSON object";

inline constexpr std::array structure_options = {
    Option{.name = "json-schema",
           .value = "SCHEMA",
           .kind = Kind::text,
           .description =
               "keep the answer to a JSON Schema, in a file or as `{...}`; what cannot be enforced is "
               "an error",
           .brief = "keep the answer to a JSON Schema"},
    Option{.name = "lenient-schema",
           .description =
               "leave out what cannot be enforced of a JSON Schema, also of the arguments of tools"},
    Option{.name = "tools-strict", .description = tools_strict_text},
    Option{.name = "grammar",
           .value = "FILE",
           .kind = Kind::text,
           .description = "keep the answer to a grammar in GBNF, as llama.cpp has it, or in Lark: a file, or "
                          "the grammar itself where that has `::=`"},
    Option{.name = "regex",
           .value = "PATTERN",
           .kind = Kind::text,
           .description =
               "keep the answer to a regular expression of ECMAScript, from its beginning to its end"},
    Option{.name = "choice",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "keep the answer to one of several texts: to be given once for each",
           .repeat = Repeat::collect},
};

inline constexpr std::array prediction_options = {
    Option{.name = "prediction",
           .value = "TEXT",
           .kind = Kind::text,
           .description =
               "what the answer may be: TEXT is drafted where the answer follows it, which is faster "
               "and never another answer"},
};

inline constexpr Option chat_template_option = {
    .name = "chat-template",
    .value = "TEMPLATE",
    .kind = Kind::text,
    .default_text = "the model's own",
    .description = "write the conversation with this chat template: a file in the Jinja language, a "
                   "variant that the model's file has, or chatml, llama2, llama3, gemma, mistral, phi3, "
                   "zephyr or vicuna"};

constexpr double tool_timeout_max_s = 86400;
inline constexpr std::array<std::string_view, 3> reasoning_choices = {"show", "hide", "auto"};

inline constexpr std::array conversation_options = {
    Option{.name = "system",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "put TEXT before the prompt as the system's message, through the model's chat "
                          "template",
           .brief = "put a system message before everything"},
    chat_template_option,
    Option{.name = "think",
           .description = "let the model think before it answers, where its template has a switch for that",
           .brief = "let the model think before it answers"},
    Option{.name = "no-think", .description = "let it answer at once", .brief = "let it answer at once"},
    Option{.name = "reasoning",
           .value = "WHEN",
           .kind = Kind::choice,
           .choices = reasoning_choices,
           .default_text = "auto",
           .description = "show what the model thinks on standard error: always, never, or where that is a "
                          "terminal",
           .category = Category::output},
    Option{.name = "tools",
           .value = "FILE",
           .kind = Kind::text,
           .description =
               "offer the model the tools in this JSON file, a list as in OpenAI's API; a tool that "
               "has a `command` is run through the shell when the model calls it and you agree",
           .brief = "offer the tools in this JSON file"},
    Option{.name = "yes",
           .description = "run the commands of tools without asking, those of files that you name"},
    Option{.name = "tool-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, tool_timeout_max_s},
           .default_text = "60",
           .description = "stop a tool's command that takes longer, and tell the model; 0 lets it take its "
                          "time"},
};

inline constexpr std::array sampling_options = {
    Option{.name = "temp",
           .value = "T",
           .kind = Kind::number,
           .range = {0, temperature_max},
           .default_text = "the model's own, else 0.8",
           .description = "temperature: 0 always takes the likeliest token, higher is more varied",
           .brief = "temperature: 0 is the likeliest, higher more varied",
           .category = Category::sampling},
    Option{.name = "top-k",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "the model's own, else 40",
           .description = "draw from the N likeliest tokens only; 0 draws from all",
           .category = Category::sampling},
    Option{.name = "top-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1, LowerBound::exclusive},
           .default_text = "the model's own, else 0.95",
           .description = "draw from the likeliest tokens that together have probability P; 1 draws from all",
           .category = Category::sampling},
    Option{.name = "min-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0.05",
           .description = "leave out tokens less likely than P times the likeliest",
           .category = Category::sampling},
    Option{.name = "typical-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1, LowerBound::exclusive},
           .default_text = "1",
           .description = "draw from the tokens of the most expected surprise that together have probability "
                          "P (locally typical sampling); 1 draws from all",
           .category = Category::sampling},
    Option{.name = "top-n-sigma",
           .value = "N",
           .kind = Kind::number,
           .range = {0, sigmas_max},
           .default_text = "0",
           .absence = "-1",
           .description = "draw from tokens whose logits are within N standard deviations of the largest; 0 "
                          "draws from all",
           .category = Category::sampling},
    Option{.name = "xtc-probability",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0",
           .description = "how often the top choices are left out, all but the least likely of them (XTC); 0 "
                          "never",
           .category = Category::sampling},
    Option{.name = "xtc-threshold",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0.1",
           .description = "probability from which on a token is a top choice; above 0.5 XTC does nothing",
           .category = Category::sampling},
    Option{.name = "min-keep",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "0",
           .description = "no rule above leaves fewer than N tokens to draw from",
           .category = Category::sampling},
    Option{.name = "repeat-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {0, penalty_max, LowerBound::exclusive},
           .default_text = "the model's own, else 1",
           .description = "make tokens of the prompt and the answer less likely: positive logits are divided "
                          "by X, others multiplied; 1 does nothing",
           .category = Category::sampling},
    Option{.name = "repeat-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "the model's own, else 64",
           .description = "last tokens that --repeat-penalty looks at; -1 all",
           .category = Category::sampling},
    Option{.name = "presence-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-penalty_max, penalty_max},
           .default_text = "0",
           .description = "taken from the logits of tokens that the answer has",
           .category = Category::sampling},
    Option{.name = "presence-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "last tokens of the answer that --presence-penalty looks at; -1 all",
           .category = Category::sampling},
    Option{.name = "frequency-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-penalty_max, penalty_max},
           .default_text = "0",
           .description = "taken from a token's logit for each time that the answer has it",
           .category = Category::sampling},
    Option{.name = "frequency-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "last tokens of the answer that --frequency-penalty looks at; -1 all",
           .category = Category::sampling},
    Option{.name = "dry-multiplier",
           .value = "X",
           .kind = Kind::number,
           .range = {0, penalty_max},
           .default_text = "0",
           .description = "make tokens less likely that would continue a repetition of the prompt or the "
                          "answer (DRY): X times --dry-base to the power of its surplus length is taken from "
                          "the logit; 0 does nothing",
           .category = Category::sampling},
    Option{.name = "dry-base",
           .value = "X",
           .kind = Kind::number,
           .range = {1, penalty_max},
           .default_text = "1.75",
           .description = "growth of DRY's penalty with each token of the repetition",
           .category = Category::sampling},
    Option{.name = "dry-allowed-length",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .default_text = "2",
           .description = "repetitions of fewer than N tokens are free, and from N on DRY's penalty grows",
           .category = Category::sampling},
    Option{.name = "dry-penalty-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "last tokens in which DRY looks for repetitions; -1 all",
           .category = Category::sampling},
    Option{.name = "dry-sequence-breaker",
           .value = "TEXT",
           .kind = Kind::text,
           .default_text = "line ends, :, \" and *",
           .description = "text over which DRY sees no repetition; may be given several times, `none` for no "
                          "such text",
           .category = Category::sampling,
           .repeat = Repeat::collect},
    Option{.name = "logit-bias",
           .value = "ID=BIAS",
           .kind = Kind::text,
           .description =
               "add BIAS to the logit of the token ID, as `etna tokenize` prints it; -inf bans the "
               "token; may be given several times",
           .category = Category::sampling,
           .repeat = Repeat::collect},
    Option{.name = "seed",
           .value = "N",
           .kind = Kind::integer,
           .range = int64_range,
           .default_text = "random",
           .absence = "-1",
           .description = "random state: the same seed and request give the same text",
           .brief = "the same seed and request give the same text",
           .category = Category::sampling},
};

inline constexpr std::array device_options = {
    Option{.name = "device",
           .value = "DEVICE",
           .kind = Kind::text,
           .default_text = "the best GPU, else the CPU",
           .description = "Vulkan device: its number, its UUID or a part of its name",
           .brief = "run there; `etna devices` lists them",
           .category = Category::device},
    Option{.name = "ctx-size",
           .short_name = 'c',
           .value = "N",
           .kind = Kind::integer,
           .range = {1, context_tokens_max},
           .default_text = "the model's own, as far as memory allows",
           .absence = "0",
           .description = "tokens that prompt and answer may have together",
           .brief = "tokens that prompt and answer may have together",
           .category = Category::device},
    Option{.name = "kv-type",
           .value = "TYPE",
           .kind = Kind::choice,
           .choices = kv_types,
           .default_text = "f16",
           .description = "number format of the key-value cache; q8_0 takes half the memory of f16",
           .category = Category::device},
    Option{.name = "key-type",
           .value = "TYPE",
           .kind = Kind::choice,
           .choices = kv_types,
           .default_text = "as --kv-type",
           .description = "number format of the cached keys alone",
           .category = Category::device},
    Option{.name = "value-type",
           .value = "TYPE",
           .kind = Kind::choice,
           .choices = kv_types,
           .default_text = "as --kv-type",
           .description = "number format of the cached values alone",
           .category = Category::device},
    Option{.name = "kv-memory",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {size_min_bytes, size_max_bytes},
           .default_text = "what the context needs",
           .description = "memory for the key-value cache in bytes, or with K, M, G or T (powers of 1024)",
           .category = Category::device},
    Option{.name = "plan-as",
           .value = "VENDOR",
           .kind = Kind::choice,
           .choices = vendors,
           .description = "choose kernels as for a device of VENDOR",
           .category = Category::device,
           .visibility = Visibility::hidden},
};

} // namespace etna::cli::table
