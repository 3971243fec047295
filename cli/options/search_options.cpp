#include "cli/options/search_options.hpp"

#include "cli/options/table/search.hpp"

#include <fmt/format.h>

namespace etna::cli {

static_assert(table::drafts_max == engine::drafts_max && table::ngram_max == engine::ngram_max);
static_assert(table::length_penalty_max == engine::length_penalty_max &&
              table::diversity_penalty_max == engine::diversity_penalty_max);

namespace {

engine::EarlyStopping early_stopping_named(std::string_view name) {
    if (name == "yes")
        return engine::EarlyStopping::first;
    return name == "never" ? engine::EarlyStopping::never : engine::EarlyStopping::heuristic;
}

} // namespace

Result<SearchOptions> read_search(const OptionValues& values) {
    SearchOptions options;
    ETNA_TRY(options.best_of, values.integer("best-of"));
    ETNA_TRY(const auto width, values.integer("beams"));
    ETNA_TRY(const auto groups, values.integer("beam-groups"));
    ETNA_TRY(const auto diversity_penalty, values.number("diversity-penalty"));
    ETNA_TRY(const auto length_penalty, values.number("length-penalty"));
    ETNA_TRY(const auto early_stopping, values.choice("early-stopping"));
    if (options.best_of && width) {
        return Error{ErrorKind::invalid_argument, "--best-of samples, and --beams does not",
                     "leave one of them out"};
    }
    if (!width) {
        if (groups || diversity_penalty || length_penalty || early_stopping) {
            return Error{
                ErrorKind::invalid_argument,
                "--beam-groups, --diversity-penalty, --length-penalty and --early-stopping are for a "
                "beam search",
                "say how many --beams it has"};
        }
        return options;
    }
    constexpr float usual_diversity_penalty = 1;
    options.beams = engine::BeamOptions{
        .width = *width,
        .groups = groups.value_or(1),
        .diversity_penalty = static_cast<float>(diversity_penalty.value_or(usual_diversity_penalty)),
        .length_penalty = static_cast<float>(length_penalty.value_or(1)),
        .early_stopping = early_stopping_named(early_stopping.value_or("no"))};
    ETNA_CHECK(engine::check(*options.beams));
    return options;
}

Result<DraftOptions> read_drafts(const OptionValues& values) {
    DraftOptions options;
    options.model = values.text("draft").value_or("");
    ETNA_TRY(const bool looks_up, values.flag("prompt-lookup"));
    ETNA_TRY(options.overrides.tokens_max, values.integer("num-assistant-tokens"));
    ETNA_TRY(const auto confidence, values.number("assistant-confidence-threshold"));
    ETNA_TRY(const auto ngram, values.integer("max-ngram-size"));
    if (options.overrides.tokens_max && confidence) {
        return Error{ErrorKind::invalid_argument,
                     "--num-assistant-tokens and --assistant-confidence-threshold exclude each other",
                     "leave one of them out"};
    }
    if (ngram && !looks_up) {
        return Error{ErrorKind::invalid_argument, "--max-ngram-size is for --prompt-lookup",
                     "give both, or none"};
    }
    if (confidence)
        options.overrides.confidence_min = static_cast<float>(*confidence);
    if (looks_up)
        options.overrides.ngram_max = ngram.value_or(generate::usual_ngram_max);
    return options;
}

} // namespace etna::cli
