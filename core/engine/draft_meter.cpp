#include "core/engine/draft_meter.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

constexpr double weight_of_new = 0.1;
// Before anything is measured: a model of a fifth of the size, and rows that share the reading of the
// weights.
constexpr DraftCosts usual = {.draft = 0.2F, .row = 0.1F};
constexpr double most_cost = 2; // steps; a pause of the machine is no measurement

} // namespace

void DraftMeter::Mean::add(double sample) {
    value = is_known ? value + weight_of_new * (sample - value) : sample;
    is_known = true;
}

void DraftMeter::note_step(uint32_t rows, uint32_t drafts, double ms) {
    if (rows == 0)
        return;
    if (drafts == 0)
        return plain_ms_.add(ms);
    drafted_ms_.add(ms);
    drafts_.add(drafts);
}

void DraftMeter::note_drafts(uint32_t tokens, double ms) {
    if (tokens > 0)
        draft_ms_.add(ms / tokens);
}

DraftCosts DraftMeter::costs() const {
    DraftCosts costs = usual;
    if (!plain_ms_.is_known || plain_ms_.value <= 0)
        return costs;
    const auto in_steps = [&](double ms) {
        return static_cast<float>(std::clamp(ms / plain_ms_.value, 0.0, most_cost));
    };
    if (draft_ms_.is_known)
        costs.draft = in_steps(draft_ms_.value);
    if (drafted_ms_.is_known)
        costs.row = in_steps((drafted_ms_.value - plain_ms_.value) / drafts_.value);
    return costs;
}

} // namespace etna::engine
