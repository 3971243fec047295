#include "server/openai/generation_call.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr int64_t best_of_max = 20; // OpenAI's, and OVMS's default of best_of_limit
constexpr float usual_diversity_penalty = 1;

engine::EarlyStopping read_early_stopping(Fields& fields) {
    const Json* const given = fields.any("early_stopping");
    if (given == nullptr)
        return engine::EarlyStopping::heuristic;
    if (given->is_boolean())
        return given->get<bool>() ? engine::EarlyStopping::first : engine::EarlyStopping::heuristic;
    if (*given != "never")
        fields.refuse("early_stopping", R"(must be true, false or "never")");
    return engine::EarlyStopping::never;
}

std::optional<double> read_length_penalty(Fields& fields) {
    return fields.number("length_penalty", -engine::length_penalty_max, engine::length_penalty_max);
}

std::optional<double> read_diversity_penalty(Fields& fields) {
    return fields.number("diversity_penalty", 0, engine::diversity_penalty_max);
}

/// Handles beam search fields without beam search, where they have no effect. OVMS accepts them, so they are
/// noted on its paths; on OpenAI paths they are refused, unless they have their default. A wrong type is an
/// error on both.
void read_without_search(Fields& fields, Dialect dialect) {
    // OVMS documents 1 as the default of diversity_penalty, so clients send it without beam search.
    const bool is_ovms = dialect == Dialect::ovms;
    const auto diversity = read_diversity_penalty(fields);
    const std::pair<std::string_view, bool> asked[] = {
        {"num_beam_groups", fields.integer("num_beam_groups", 1, best_of_max).value_or(1) != 1},
        {"diversity_penalty", diversity.value_or(0) != 0 && !(is_ovms && diversity == 1)},
        {"length_penalty", read_length_penalty(fields).value_or(1) != 1},
        {"early_stopping", read_early_stopping(fields) != engine::EarlyStopping::heuristic}};
    for (const auto& [name, is_asked] : asked) {
        if (is_asked && is_ovms) {
            fields.note({name});
        } else if (is_asked) {
            fields.refuse(name, "is for beam search, which this request does not ask for; say best_of or "
                                "use_beam_search");
        }
    }
}

/// Reads groups and penalty; if only one is given, the other is derived from it.
void read_groups(Fields& fields, engine::BeamOptions& beams) {
    const auto groups = fields.integer("num_beam_groups", 1, beams.width);
    const auto penalty = read_diversity_penalty(fields);
    beams.diversity_penalty = static_cast<float>(penalty.value_or(usual_diversity_penalty));
    beams.groups = beams.diversity_penalty > 0 && penalty && !groups
                       ? beams.width
                       : static_cast<uint32_t>(groups.value_or(1));
    if (beams.width % beams.groups != 0)
        fields.refuse("num_beam_groups", fmt::format("must divide the {} beams evenly", beams.width));
}

void read_search(Fields& fields, uint32_t width, generate::Request& request) {
    engine::BeamOptions beams = {.width = width};
    read_groups(fields, beams);
    beams.length_penalty = static_cast<float>(read_length_penalty(fields).value_or(1));
    beams.early_stopping = read_early_stopping(fields);
    request.beams = beams;
}

} // namespace

void read_beams(Fields& fields, const RequestContext& context, generate::Request& request) {
    const RequestLimits& limits = context.limits;
    const Dialect dialect = context.dialect;
    const int64_t choices = request.choices;
    const int64_t width_max = std::min<int64_t>({best_of_max, limits.choices_max, limits.answers_max});
    const auto best_of = fields.integer("best_of", 1, width_max);
    if (best_of.value_or(choices) < choices)
        return fields.refuse("best_of", fmt::format("must be at least n, which is {}", choices));
    const auto beams = fields.integer("num_beams", 1, width_max);
    if (beams.value_or(choices) < choices)
        return fields.refuse("num_beams", fmt::format("must be at least n, which is {}", choices));
    if (const auto returned = fields.integer("num_return_sequences", 1, choices);
        returned.value_or(choices) < choices)
        return fields.refuse("num_return_sequences", fmt::format("contradicts n, which is {}", choices));
    const int64_t width = std::max(best_of.value_or(choices), beams.value_or(1));
    const bool is_greedy =
        request.sampling.temperature.value_or(context.sampling_defaults.temperature) == 0.0F;
    const bool is_asked = fields.flag("use_beam_search").value_or(false) || beams.value_or(1) > 1;
    const bool is_meant = best_of.value_or(1) > 1 && (dialect == Dialect::ovms || is_greedy);
    if (width > best_of_max && is_asked)
        return fields.refuse("n", fmt::format("must be at most {} for a beam search", best_of_max));
    if (is_asked || is_meant)
        return read_search(fields, static_cast<uint32_t>(width), request);
    read_without_search(fields, dialect);
    if (width > choices)
        request.best_of = static_cast<uint32_t>(width);
}

void check_answers(Fields& fields, const RequestLimits& limits, std::size_t prompts,
                   const generate::Request& request) {
    const std::size_t told = prompts * request.choices;
    if (told > limits.answers_max) {
        return fields.refuse("prompt",
                             fmt::format("asks for {} answers with `n`; at most {} are given at once", told,
                                         limits.answers_max));
    }
    const uint32_t width = request.beams ? request.beams->width : request.best_of.value_or(request.choices);
    const std::string_view name = fields.any("best_of") != nullptr ? "best_of" : "num_beams";
    if (prompts * width > limits.answers_max) {
        fields.refuse(name, fmt::format("asks for {} answers of {} prompts; at most {} are made at once",
                                        prompts * width, prompts, limits.answers_max));
    }
}

} // namespace etna::server::openai
