#include "cli/options/search_options.hpp"

#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double drafts_max = engine::drafts_max;
constexpr double ngram_max = engine::ngram_max;
constexpr double best_of_max = 20;
constexpr double length_penalty_max = engine::length_penalty_max;
constexpr double diversity_penalty_max = engine::diversity_penalty_max;

constexpr std::array<std::string_view, 3> early_stopping_choices = {"no", "yes", "never"};

constexpr std::array search_table = {
    Option{.name = "best-of",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, best_of_max},
           .description = "sample N answers and give the likeliest"},
    Option{.name = "beams",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, best_of_max},
           .description = "search for the likeliest answer with N beams instead of sampling"},
    Option{.name = "beam-groups",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, best_of_max},
           .default_text = "1",
           .description = "split the beams into N groups that avoid each other's tokens"},
    Option{.name = "diversity-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {0, diversity_penalty_max},
           .default_text = "1",
           .description = "penalty of a beam for each group that took the same token"},
    Option{.name = "length-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-length_penalty_max, length_penalty_max},
           .default_text = "1",
           .description = "divide a beam's log-probability by its length to the power of X; higher values "
                          "prefer longer answers"},
    Option{.name = "early-stopping",
           .value = "WHEN",
           .kind = Kind::choice,
           .choices = early_stopping_choices,
           .default_text = "no",
           .description = "when a beam search ends; with enough complete answers (yes), when better ones are "
                          "unlikely (no) or impossible (never)"},
};

constexpr std::array<Option, 5> speculation_table(DraftsBy by) {
    const bool is_server = by == DraftsBy::server;
    return {
        Option{.name = "draft",
               .value = "MODEL",
               .kind = Kind::text,
               .description = "draft tokens with a smaller model of the same vocabulary; the model verifies "
                              "several at a time: faster if many are accepted, and the answer never changes"},
        Option{
            .name = "prompt-lookup",
            .description =
                "draft the tokens that followed the same text earlier; for answers that repeat the prompt"},
        Option{.name = "num-assistant-tokens",
               .value = "N",
               .kind = Kind::integer,
               .range = {0, drafts_max},
               .default_text = is_server ? "5" : "the model's own, else 5",
               .description = is_server ? "draft at most N tokens at a time; 0: none; requests and the "
                                          "model's generation_config.json override it"
                                        : "draft at most N tokens at a time; 0: none"},
        Option{.name = "assistant-confidence-threshold",
               .value = "P",
               .kind = Kind::number,
               .range = {0, 1},
               .description =
                   is_server
                       ? "draft while the draft model's token has at least probability P; replaces "
                         "--num-assistant-tokens; requests and the model's generation_config.json override it"
                       : "draft while the draft model's token has at least probability P; replaces "
                         "--num-assistant-tokens"},
        Option{.name = "max-ngram-size",
               .value = "N",
               .kind = Kind::integer,
               .range = {1, ngram_max},
               .default_text = "3",
               .description = "longest run of tokens that --prompt-lookup matches"},
    };
}

constexpr auto speculation_of_command_line =
    in_category(Category::device, speculation_table(DraftsBy::command_line));
constexpr auto speculation_of_server = in_category(Category::device, speculation_table(DraftsBy::server));

engine::EarlyStopping early_stopping_named(std::string_view name) {
    if (name == "yes")
        return engine::EarlyStopping::first;
    return name == "never" ? engine::EarlyStopping::never : engine::EarlyStopping::heuristic;
}

} // namespace

std::span<const Option> search_options() {
    return search_table;
}

std::span<const Option> speculation_options(DraftsBy by) {
    return by == DraftsBy::server ? speculation_of_server : speculation_of_command_line;
}

Result<SearchOptions> read_search(const OptionValues& values) {
    SearchOptions options;
    ETNA_TRY(options.best_of, values.integer("best-of"));
    ETNA_TRY(const auto width, values.integer("beams"));
    ETNA_TRY(const auto groups, values.integer("beam-groups"));
    ETNA_TRY(const auto diversity_penalty, values.number("diversity-penalty"));
    ETNA_TRY(const auto length_penalty, values.number("length-penalty"));
    ETNA_TRY(const auto early_stopping, values.choice("early-stopping"));
    if (options.best_of && width)
        return invalid_argument("--best-of and --beams exclude each other", "remove one of them");
    if (!width) {
        if (groups || diversity_penalty || length_penalty || early_stopping) {
            return invalid_argument(
                "--beam-groups, --diversity-penalty, --length-penalty and --early-stopping need a "
                "beam search",
                "add --beams N");
        }
        return options;
    }
    constexpr float default_diversity_penalty = 1;
    options.beams = engine::BeamOptions{
        .width = *width,
        .groups = groups.value_or(1),
        .diversity_penalty = static_cast<float>(diversity_penalty.value_or(default_diversity_penalty)),
        .length_penalty = static_cast<float>(length_penalty.value_or(1)),
        .early_stopping = early_stopping_named(early_stopping.value_or("no"))};
    ETNA_CHECK(engine::check(*options.beams));
    return options;
}

Result<DraftOptions> read_drafts(const OptionValues& values) {
    DraftOptions options;
    options.model = values.text("draft").value_or("");
    ETNA_TRY(const bool has_lookup, values.flag("prompt-lookup"));
    ETNA_TRY(options.overrides.tokens_max, values.integer("num-assistant-tokens"));
    ETNA_TRY(const auto confidence, values.number("assistant-confidence-threshold"));
    ETNA_TRY(const auto ngram, values.integer("max-ngram-size"));
    if (options.overrides.tokens_max && confidence) {
        return invalid_argument(
            "--num-assistant-tokens and --assistant-confidence-threshold exclude each other",
            "remove one of them");
    }
    if (ngram && !has_lookup) {
        return invalid_argument("--max-ngram-size needs --prompt-lookup",
                                "add --prompt-lookup, or remove --max-ngram-size");
    }
    if (confidence)
        options.overrides.confidence_min = static_cast<float>(*confidence);
    if (has_lookup)
        options.overrides.ngram_max = ngram.value_or(generate::usual_ngram_max);
    return options;
}

} // namespace etna::cli
