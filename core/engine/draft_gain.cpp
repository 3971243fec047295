#include "core/engine/draft_gain.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

constexpr uint32_t first_length = 2;
constexpr uint32_t first_pause = 48; ///< tokens
constexpr uint32_t longest_pause = 4096;
constexpr double most_lost = -1; ///< steps, before a pause
constexpr double most_saved = 4; ///< that are kept in mind: text changes
// What a draft costs at least. A device that verifies for next to nothing would try for ever otherwise.
constexpr float least_row_cost = 0.1F;
constexpr float least_draft_cost = 0.2F;

} // namespace

DraftGain::DraftGain(uint32_t tokens_max)
    : tokens_max_(tokens_max), length_(std::min(tokens_max, first_length)), next_pause_(first_pause) {}

void DraftGain::skip() {
    pause_ -= std::min(pause_, 1U);
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
        next_pause_ = first_pause;
    if (balance_ >= most_lost)
        return;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, longest_pause);
    balance_ = most_lost; // the next draft has to be a good one
    length_ = 1;
}

} // namespace etna::engine
