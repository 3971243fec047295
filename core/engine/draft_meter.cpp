#include "core/engine/draft_meter.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

// Defaults before the first measurement: a model of a fifth of the size, and rows that share the read of the
// weights.
constexpr DraftCosts usual = {.draft = 0.2F, .row = 0.1F};
constexpr double most_cost = 2; // steps

} // namespace

void DraftMeter::Recent::add(double sample) {
    samples_[next_] = sample;
    next_ = (next_ + 1) % samples_.size();
    count_ = std::min(count_ + 1, samples_.size());
}

double DraftMeter::Recent::median() const {
    auto samples = samples_;
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>((count_ - 1) / 2);
    std::nth_element(samples.begin(), middle, samples.begin() + static_cast<std::ptrdiff_t>(count_));
    return *middle;
}

void DraftMeter::note_step(uint32_t drafts, double ms) {
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
    if (!plain_ms_.is_known() || plain_ms_.median() <= 0)
        return costs;
    const double plain_ms = plain_ms_.median();
    const auto in_steps = [&](double ms) {
        return static_cast<float>(std::clamp(ms / plain_ms, 0.0, most_cost));
    };
    if (draft_ms_.is_known())
        costs.draft = in_steps(draft_ms_.median());
    if (drafted_ms_.is_known())
        costs.row = in_steps((drafted_ms_.median() - plain_ms) / drafts_.median());
    return costs;
}

} // namespace etna::engine
