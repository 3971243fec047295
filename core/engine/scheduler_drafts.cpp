#include "core/engine/scheduler.hpp"
#include "core/engine/token_selection.hpp"

#include <algorithm>
#include <utility>

// Drafts: rows for tokens that are not known yet, after the row that samples the first of them.
namespace etna::engine {
namespace {

constexpr uint32_t ngram_min_with_model = 2;
/// Tokens that a few steps generate: a draft model that has at most this many left to compute has caught up.
constexpr uint32_t uncomputed_tokens_max = 2 * drafts_max;

bool is_caught_up(const Sequence& sequence) {
    const uint32_t computed = sequence.draft_state->computed_by_model;
    return computed > 0 && sequence.length() - computed <= uncomputed_tokens_max;
}

} // namespace

/// Whether all of a sequence's tokens are known, and the next one will not be the last.
bool Scheduler::can_draft(const Sequence& sequence) const {
    return sequence.draft_state != nullptr && sequence.state == SequenceState::decode &&
           sequence.backpressure == Backpressure::off && sequence.pending_samples == 0 &&
           !sequence.constraint_state.waits && sequence.computed_tokens + 1 == sequence.length() &&
           sequence.length() + 1 < sequence.length_max;
}

/// Returns the number of rows of a step that the running sequences do not need.
uint32_t Scheduler::rows_for_drafts() const {
    return std::min(limits_.batch_rows_max, limits_.output_rows_max) -
           static_cast<uint32_t>(admission_.running().size());
}

/// Drafts at most `limit` tokens without a model.
void Scheduler::look_up(Sequence& sequence, uint32_t limit) {
    DraftState& state = *sequence.draft_state;
    state.drafts.clear();
    state.by_model = false;
    limit = std::min(limit, state.lookup_control.length());
    if (limit == 0)
        return;
    // A draft of the model is more likely to be accepted than a match of a single token, and rejected matches
    // would pause the lookup of longer n-grams as well.
    const uint32_t ngram_min =
        state.options.uses_model ? std::clamp(state.options.lookup_ngram_max, 1U, ngram_min_with_model) : 1;
    state.drafts = state.lookup.draft(sequence.tokens, limit, ngram_min);
}

std::vector<DraftRequest> Scheduler::draft() {
    std::vector<DraftRequest> requests;
    uint32_t rows = rows_for_drafts(); // the model drafts no more than these can verify
    for (Sequence* sequence : admission_.running()) {
        if (!can_draft(*sequence))
            continue;
        const DraftState& state = *sequence->draft_state;
        uint32_t tokens_max = std::min(rows, sequence->length_max - sequence->length() - 1);
        look_up(*sequence, tokens_max);
        rows -= static_cast<uint32_t>(state.drafts.size());
        tokens_max = std::min(tokens_max, state.model_control.length());
        if (!state.drafts.empty() || tokens_max == 0)
            continue;
        rows -= tokens_max;
        requests.push_back({.request = sequence->id.request,
                            .text = {sequence->tokens, sequence->kinds},
                            .sampling = sequence->sampling,
                            .cache_salt = sequence->cache_salt,
                            .tokens_max = tokens_max,
                            .confidence_min = state.options.confidence_min,
                            .is_caught_up = is_caught_up(*sequence)});
    }
    return requests;
}

void Scheduler::set_drafts(std::span<const DraftRequest> requests, std::vector<ModelDrafts> drafts) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const auto found = sequences_.find({.request = requests[i].request});
        if (found == sequences_.end())
            continue;
        std::vector<TokenId>& tokens = drafts[i].tokens;
        const auto foreign = std::find_if(tokens.begin(), tokens.end(),
                                          [&](TokenId token) { return token >= limits_.vocabulary; });
        tokens.erase(foreign, tokens.end()); // the draft model's vocabulary may have more padding
        DraftState& state = *found->second.draft_state;
        state.drafts = std::move(tokens);
        state.by_model = true;
        if (drafts[i].is_caught_up)
            state.computed_by_model = found->second.length();
    }
}

void Scheduler::drop_draft_model() {
    has_draft_model_ = false;
    for (auto& [id, sequence] : sequences_) {
        if (sequence.draft_state != nullptr)
            sequence.draft_state->drop_model();
    }
}

/// Returns the number of a sequence's drafts that fit into the batch, after its own row.
uint32_t Scheduler::drafts_that_fit(const Sequence& sequence) const {
    auto count = static_cast<uint32_t>(sequence.draft_state->drafts.size());
    count = std::min(count, spare_rows_);
    // Each draft row may need a slot, and so may the regular row of every sequence.
    const std::size_t slots = free_slots_.size() - std::min(free_slots_.size(), admission_.running().size());
    return std::min(count, static_cast<uint32_t>(slots));
}

/// Reserves pages for the drafts without preempting others; without pages, the drafts are dropped.
void Scheduler::reserve_drafts(Sequence& sequence) {
    if (sequence.draft_state == nullptr)
        return;
    if (!can_draft(sequence))
        return sequence.draft_state->drafts.clear();
    std::vector<TokenId>& drafts = sequence.draft_state->drafts;
    drafts.resize(drafts_that_fit(sequence));
    const auto spare = static_cast<uint32_t>(admission_.running().size());
    const uint32_t first = sequence.computed_tokens + 1;
    if (!drafts.empty() &&
        !cache_.reserve(sequence.pages, first, first + static_cast<uint32_t>(drafts.size()), spare,
                        batch_.copies))
        drafts.clear();
}

void Scheduler::append_drafts(Sequence& sequence, Step& step) {
    if (sequence.draft_state == nullptr)
        return;
    DraftState& state = *sequence.draft_state;
    if (state.drafts.empty())
        return state.skip();
    for (const TokenId draft : state.drafts) {
        const uint32_t position = sequence.computed_tokens++;
        const OutputSpec spec = output_spec_for(sequence, position, limits_);
        Row& row = batch_.rows.emplace_back();
        row.kind = RowKind::decode;
        row.output_kind = spec.output_kind;
        row.value = draft;
        row.sequence = static_cast<uint32_t>(batch_.sequences.size() - 1);
        row.set_position(position);
        row.candidates = spec.candidates;
        std::optional<uint32_t> slot;
        if (row.output_kind == OutputKind::sampled) {
            slot = free_slots_.back();
            free_slots_.pop_back();
            row.sampling = sequence.sampling;
            row.output_slot = *slot;
        }
        step.push_back({.sequence = sequence.id, .position = position, .slot = slot, .draft = draft});
    }
    const auto count = static_cast<uint32_t>(state.drafts.size());
    admission_.charge(sequence.client, count);
    spare_rows_ -= count;
    state.drafts.clear();
    state.in_flight = count;
    state.accept_end = sequence.computed_tokens;
    state.step_accepted = 0;
    state.rejected += count; // until they are accepted
    sequence.slot.reset();   // the next token is known once all of them are read
}

/// Returns whether a row's draft matches the token that was sampled at its position; true without a draft.
/// All drafts after the first mismatch are rejected, because their rows attend to a wrong token.
bool Scheduler::draft_accepted(Sequence& sequence, const PendingOutput& pending) {
    if (!pending.draft)
        return true;
    DraftState& state = *sequence.draft_state;
    const bool is_accepted = pending.position < state.accept_end && pending.position < sequence.length() &&
                             sequence.tokens[pending.position] == *pending.draft;
    if (!is_accepted) {
        state.accept_end = std::min(state.accept_end, pending.position);
        return false;
    }
    ++state.accepted;
    state.accepted_positions.push_back(pending.position - sequence.prompt_tokens);
    ++state.step_accepted;
    --state.rejected;
    return true;
}

/// After the last row of a sequence's drafts, discards the positions computed after the first mismatch.
void Scheduler::resolve_drafts(const Step& step, std::size_t last) {
    const PendingOutput& pending = step[last];
    if (!pending.draft || (last + 1 < step.size() && step[last + 1].sequence == pending.sequence))
        return;
    const auto found = sequences_.find(pending.sequence);
    if (found == sequences_.end())
        return;
    Sequence& sequence = found->second;
    DraftState& state = *sequence.draft_state;
    state.finish_step(draft_costs_);
    const uint32_t last_known = sequence.length() - (sequence.constraint_state.parked ? 0 : 1);
    sequence.computed_tokens = std::min({sequence.computed_tokens, state.accept_end, last_known});
}

} // namespace etna::engine
