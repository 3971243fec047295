#include "core/engine/draft_gain.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

// Totals over all sources of a sequence: with two sources, each starts at half the length and pauses twice as
// long.
constexpr uint32_t first_length = 2;
constexpr uint32_t first_pause = 48; ///< tokens
constexpr double most_lost = -1;     ///< balance in steps below which drafting pauses

constexpr uint32_t longest_pause = 4096;
constexpr double most_saved = 4; ///< maximum balance that is carried over: text changes
// Minimum costs of a draft. Otherwise a device that verifies at almost no cost would draft for ever.
constexpr float least_row_cost = 0.1F;
constexpr float least_draft_cost = 0.2F;

} // namespace

DraftGain::DraftGain(uint32_t tokens_max, uint32_t sources)
    : tokens_max_(tokens_max), most_lost_(most_lost / std::max(sources, 1U)),
      first_pause_(first_pause * std::max(sources, 1U)),
      length_(std::min(tokens_max, std::max(first_length / std::max(sources, 1U), 1U))),
      next_pause_(first_pause_) {}

void DraftGain::skip(uint32_t tokens) {
    pause_ -= std::min(pause_, tokens);
}

void DraftGain::note(uint32_t drafted, uint32_t accepted, bool by_model, const DraftCosts& costs) {
    const float cost =
        std::max(costs.row, least_row_cost) + (by_model ? std::max(costs.draft, least_draft_cost) : 0);
    balance_ = std::min(balance_ + accepted - double{cost} * drafted, most_saved);
    if (accepted == drafted)
        length_ = std::min(2 * length_, tokens_max_);
    else
        length_ = std::max(accepted == 0 ? length_ / 2 : accepted + 1, 1U);
    length_ = std::min(length_, tokens_max_);
    if (balance_ >= 0)
        next_pause_ = first_pause_;
    if (balance_ >= most_lost_)
        return;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, longest_pause);
    balance_ = most_lost_; // the next draft must pay off
    length_ = 1;
}

} // namespace etna::engine
