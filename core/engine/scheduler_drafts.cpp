#include "core/engine/scheduler.hpp"
#include "core/engine/wanted.hpp"

#include <algorithm>
#include <utility>

// Drafts: rows for tokens that are not known yet, after the row that samples the first of them.
namespace etna::engine {
namespace {

constexpr uint32_t ngram_min_beside_model = 2;
/// Tokens that a few steps generate: a draft model with at most this many of a text left to compute has
/// caught up.
constexpr uint32_t tokens_behind_max = 2 * drafts_max;

bool is_caught_up(const Sequence& sequence) {
    const uint32_t computed = sequence.drafting->computed_by_model;
    return computed > 0 && sequence.length() - computed <= tokens_behind_max;
}

} // namespace

/// Whether all of a sequence's tokens are known, and another may follow the next one.
bool Scheduler::can_draft(const Sequence& sequence) const {
    return sequence.drafting != nullptr && sequence.state == SequenceState::decode &&
           sequence.pace == Pace::go_on && sequence.unread == 0 && !sequence.following.waits &&
           sequence.computed + 1 == sequence.length() && sequence.length() + 1 < sequence.length_max;
}

/// Rows of a step that the running sequences do not need.
uint32_t Scheduler::rows_for_drafts() const {
    return std::min(limits_.batch_rows_max, limits_.output_rows_max) - static_cast<uint32_t>(running_.size());
}

/// Drafts at most `most` tokens without a model.
void Scheduler::look_up(Sequence& sequence, uint32_t most) {
    Drafting& drafting = *sequence.drafting;
    drafting.drafts.clear();
    drafting.by_model = false;
    most = std::min(most, drafting.lookup_gain.length());
    if (most == 0)
        return;
    // A model's draft is worth more than a match of a single token; and such matches, which are rarely right,
    // would pause the lookup of longer runs as well.
    const uint32_t ngram_min =
        drafting.wish.uses_model ? std::clamp(drafting.wish.lookup_ngram_max, 1U, ngram_min_beside_model) : 1;
    drafting.drafts = drafting.lookup.draft(sequence.tokens, most, ngram_min);
}

std::vector<DraftWish> Scheduler::draft() {
    std::vector<DraftWish> wishes;
    uint32_t room = rows_for_drafts(); // no draft is requested from the model that would find no row
    for (Sequence* sequence : running_) {
        if (!can_draft(*sequence))
            continue;
        const Drafting& drafting = *sequence->drafting;
        uint32_t most = std::min(room, sequence->length_max - sequence->length() - 1);
        look_up(*sequence, most);
        room -= static_cast<uint32_t>(drafting.drafts.size());
        most = std::min(most, drafting.model_gain.length());
        if (!drafting.drafts.empty() || most == 0)
            continue;
        room -= most;
        wishes.push_back({.request = sequence->id.request,
                          .content = sequence->content(),
                          .sampling = sequence->sampling,
                          .cache_salt = sequence->cache_salt,
                          .most = most,
                          .confidence_min = drafting.wish.confidence_min,
                          .is_caught_up = is_caught_up(*sequence)});
    }
    return wishes;
}

void Scheduler::take_drafts(std::span<const DraftWish> wishes, std::vector<ModelDrafts> drafts) {
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        const auto found = sequences_.find({.request = wishes[i].request});
        if (found == sequences_.end())
            continue;
        std::vector<TokenId>& tokens = drafts[i].tokens;
        const auto foreign = std::find_if(tokens.begin(), tokens.end(),
                                          [&](TokenId token) { return token >= limits_.vocabulary; });
        tokens.erase(foreign, tokens.end()); // the draft model's vocabulary may have more padding
        Drafting& drafting = *found->second.drafting;
        drafting.drafts = std::move(tokens);
        drafting.by_model = true;
        if (drafts[i].is_caught_up)
            drafting.computed_by_model = found->second.length();
    }
}

void Scheduler::forget_draft_model() {
    has_draft_model_ = false;
    for (auto& [id, sequence] : sequences_) {
        if (sequence.drafting != nullptr)
            sequence.drafting->forget_model();
    }
}

/// The number of a sequence's drafts that fit into the batch, after its own row.
uint32_t Scheduler::drafts_that_fit(const Sequence& sequence) const {
    auto count = static_cast<uint32_t>(sequence.drafting->drafts.size());
    count = std::min(count, spare_rows_);
    // Each draft row may need a slot, and so may the own row of every sequence.
    const std::size_t slots = free_slots_.size() - std::min(free_slots_.size(), running_.size());
    return std::min(count, static_cast<uint32_t>(slots));
}

/// Finds pages for the drafts, without preempting others; if there are none, the drafts are dropped.
void Scheduler::reserve_drafts(Sequence& sequence) {
    if (sequence.drafting == nullptr)
        return;
    if (!can_draft(sequence))
        return sequence.drafting->drafts.clear();
    std::vector<TokenId>& drafts = sequence.drafting->drafts;
    drafts.resize(drafts_that_fit(sequence));
    const auto spare = static_cast<uint32_t>(running_.size());
    const uint32_t first = sequence.computed + 1;
    if (!drafts.empty() &&
        !cache_.reserve(sequence.pages, first, first + static_cast<uint32_t>(drafts.size()), spare,
                        batch_.copies))
        drafts.clear();
}

void Scheduler::append_drafts(Sequence& sequence, Step& step) {
    if (sequence.drafting == nullptr)
        return;
    Drafting& drafting = *sequence.drafting;
    if (drafting.drafts.empty())
        return drafting.skip();
    for (const TokenId draft : drafting.drafts) {
        const uint32_t index = sequence.computed++;
        const Wish wish = wish_of(sequence, index, limits_);
        Row& row = batch_.rows.emplace_back();
        row.kind = RowKind::decode;
        row.output_kind = wish.output_kind;
        row.value = draft;
        row.sequence = static_cast<uint32_t>(batch_.sequences.size() - 1);
        row.index = index;
        row.position.fill(index);
        row.candidates = wish.candidates;
        std::optional<uint32_t> slot;
        if (row.output_kind == OutputKind::sampled) {
            slot = free_slots_.back();
            free_slots_.pop_back();
            row.sampling = sequence.sampling;
            row.output_slot = *slot;
        }
        step.push_back({.sequence = sequence.id, .index = index, .slot = slot, .draft = draft});
    }
    const auto count = static_cast<uint32_t>(drafting.drafts.size());
    shares_.charge(sequence.client, count);
    spare_rows_ -= count;
    drafting.drafts.clear();
    drafting.in_flight = count;
    drafting.right_end = sequence.computed;
    drafting.step_accepted = 0;
    drafting.rejected += count; // until they are accepted
    sequence.slot.reset();      // the next token is known once all of them are read
}

/// Returns whether a row's draft matches the token that was drawn at its position. All drafts after the first
/// mismatch are rejected: their rows attend to a wrong token.
bool Scheduler::came_right(Sequence& sequence, const Wanted& wanted) {
    if (!wanted.draft)
        return true;
    Drafting& drafting = *sequence.drafting;
    const bool is_right = wanted.index < drafting.right_end && wanted.index < sequence.length() &&
                          sequence.tokens[wanted.index] == *wanted.draft;
    if (!is_right) {
        drafting.right_end = std::min(drafting.right_end, wanted.index);
        return false;
    }
    ++drafting.accepted;
    drafting.accepted_places.push_back(wanted.index - sequence.prompt_tokens);
    ++drafting.step_accepted;
    --drafting.rejected;
    return true;
}

/// After the last row of a sequence's drafts: discards the positions computed after the first mismatch.
void Scheduler::settle_drafts(const Step& step, std::size_t last) {
    const Wanted& wanted = step[last];
    if (!wanted.draft || (last + 1 < step.size() && step[last + 1].sequence == wanted.sequence))
        return;
    const auto found = sequences_.find(wanted.sequence);
    if (found == sequences_.end())
        return;
    Sequence& sequence = found->second;
    Drafting& drafting = *sequence.drafting;
    drafting.settle(draft_costs_);
    const uint32_t last_known = sequence.length() - (sequence.following.parked ? 0 : 1);
    sequence.computed = std::min({sequence.computed, drafting.right_end, last_known});
}

} // namespace etna::engine
