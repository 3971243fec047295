#include "core/engine/draft_costs.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

// Totals over all sources of a sequence: with two sources, each starts at half the length and pauses twice as
// long.
constexpr uint32_t first_length = 2;
constexpr uint32_t first_pause = 48; ///< tokens
constexpr double balance_min = -1;   ///< balance in steps below which drafting pauses

constexpr uint32_t pause_max = 4096;
constexpr double balance_max = 4; ///< limits the credit for earlier text, because text changes
// Minimum costs of a draft. Otherwise a device that verifies at almost no cost would never pause.
constexpr float row_cost_min = 0.1F;
constexpr float draft_cost_min = 0.2F;

// Defaults before the first measurement: a model of a fifth of the size, and rows that share the read of the
// weights.
constexpr DraftCosts default_costs = {.draft = 0.2F, .row = 0.1F};
constexpr double cost_max = 2; // steps

/// In plain decode steps.
float cost_of(DraftSource source, const DraftCosts& costs) {
    switch (source) {
    case DraftSource::model:
        return std::max(costs.row, row_cost_min) + std::max(costs.draft, draft_cost_min);
    case DraftSource::head:
        return std::max(costs.row, row_cost_min + draft_cost_min);
    case DraftSource::lookup:
        break;
    }
    return std::max(costs.row, row_cost_min);
}

} // namespace

DraftLengthControl::DraftLengthControl(uint32_t tokens_max, uint32_t sources)
    : tokens_max_(tokens_max), balance_min_(balance_min / std::max(sources, 1U)),
      first_pause_(first_pause * std::max(sources, 1U)),
      length_(std::min(tokens_max, std::max(first_length / std::max(sources, 1U), 1U))),
      next_pause_(first_pause_) {}

void DraftLengthControl::skip(uint32_t tokens) {
    pause_ -= std::min(pause_, tokens);
}

void DraftLengthControl::record(uint32_t drafted, uint32_t accepted, DraftSource source,
                                const DraftCosts& costs) {
    const float cost = cost_of(source, costs);
    balance_ = std::min(balance_ + accepted - double{cost} * drafted, balance_max);
    if (accepted == drafted)
        length_ = std::min(2 * length_, tokens_max_);
    else
        length_ = std::max(accepted == 0 ? length_ / 2 : accepted + 1, 1U);
    length_ = std::min(length_, tokens_max_);
    if (balance_ >= 0)
        next_pause_ = first_pause_;
    if (balance_ >= balance_min_)
        return;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, pause_max);
    balance_ = balance_min_; // the next draft must pay off
    length_ = 1;
}

void DraftCostEstimate::Recent::add(double sample) {
    samples_[next_] = sample;
    next_ = (next_ + 1) % samples_.size();
    count_ = std::min(count_ + 1, samples_.size());
}

double DraftCostEstimate::Recent::median() const {
    auto samples = samples_;
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>((count_ - 1) / 2);
    std::nth_element(samples.begin(), middle, samples.begin() + static_cast<std::ptrdiff_t>(count_));
    return *middle;
}

void DraftCostEstimate::record_step(uint32_t drafts, double ms) {
    if (drafts == 0)
        return plain_ms_.add(ms);
    drafted_ms_.add(ms);
    drafts_.add(drafts);
}

void DraftCostEstimate::record_drafts(uint32_t tokens, double ms) {
    if (tokens > 0)
        draft_ms_.add(ms / tokens);
}

DraftCosts DraftCostEstimate::costs() const {
    DraftCosts costs = default_costs;
    if (!plain_ms_.has_samples() || plain_ms_.median() <= 0)
        return costs;
    const double plain_ms = plain_ms_.median();
    const auto in_steps = [&](double ms) {
        return static_cast<float>(std::clamp(ms / plain_ms, 0.0, cost_max));
    };
    if (draft_ms_.has_samples())
        costs.draft = in_steps(draft_ms_.median());
    if (drafted_ms_.has_samples())
        costs.row = in_steps((drafted_ms_.median() - plain_ms) / drafts_.median());
    return costs;
}

} // namespace etna::engine
