#include "server/openai/generation_fields.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::openai {

void refuse_beams(Fields& fields, Dialect dialect, uint32_t choices) {
    if (const auto best_of = fields.integer("best_of", 1, 128)) {
        if (*best_of < choices)
            fields.refuse("best_of", fmt::format("must be at least n, which is {}", choices));
        if (*best_of > choices)
            fields.refuse("best_of", "above n is not supported yet", "unsupported_value");
    }
    // OVMS documents 1 as its default of diversity_penalty, so clients write it who want no beams.
    const std::vector<Json> no_diversity =
        dialect == Dialect::ovms ? std::vector<Json>{0, 1} : std::vector<Json>{0};
    const std::pair<std::string_view, std::vector<Json>> neutral[] = {
        {"use_beam_search", {false}},  {"num_beams", {1}},
        {"num_beam_groups", {1}},      {"diversity_penalty", no_diversity},
        {"num_return_sequences", {1}}, {"length_penalty", {1}},
        {"early_stopping", {false}}};
    for (const auto& [name, values] : neutral) {
        const Json* given = fields.any(name);
        if (given != nullptr && std::find(values.begin(), values.end(), *given) == values.end())
            fields.refuse(
                name,
                fmt::format("is for beam search, which is not supported yet; {} asks for none of it",
                            text_of(values)),
                "unsupported_parameter");
    }
}

} // namespace etna::server::openai
