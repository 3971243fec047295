#include "core/engine/draft_planner.hpp"

#include <algorithm>
#include <utility>

namespace etna::engine {
namespace {

constexpr uint32_t ngram_min_with_others = 2;
/// Tokens that a few steps generate: a draft model that has at most this many left to compute has caught up.
constexpr uint32_t uncomputed_tokens_max = 2 * drafts_max;

bool is_caught_up(const Sequence& sequence) {
    const uint32_t computed = sequence.draft_state->computed_by_model;
    return computed > 0 && sequence.length() - computed <= uncomputed_tokens_max;
}

/// Whether all of a sequence's tokens are known, and the next one will not be the last.
bool can_draft(const Sequence& sequence) {
    return sequence.draft_state != nullptr && sequence.state == SequenceState::decode &&
           sequence.backpressure == Backpressure::off && sequence.pending_samples == 0 &&
           !sequence.constraint_state.waits && sequence.computed_tokens + 1 == sequence.length() &&
           sequence.length() + 1 < sequence.length_max;
}

/// Drafts at most `limit` tokens without a model.
void look_up(Sequence& sequence, uint32_t limit) {
    DraftState& state = *sequence.draft_state;
    state.drafts.clear();
    state.source = DraftSource::lookup;
    limit = std::min(limit, state.lookup_control.length());
    if (limit == 0)
        return;
    const bool has_other_source = state.options.uses_model || state.options.uses_head;
    // A draft of a model is more likely to be accepted than a match of a single token, and rejected matches
    // would pause the lookup of longer n-grams as well.
    const uint32_t ngram_min =
        has_other_source ? std::clamp(state.options.lookup_ngram_max, 1U, ngram_min_with_others) : 1;
    state.drafts = state.lookup.draft(sequence.tokens, limit, ngram_min);
    const auto embedding = std::find(state.drafts.begin(), state.drafts.end(), no_token);
    state.drafts.erase(embedding, state.drafts.end());
}

/// Takes the draft of the draft head, if it is for the sequence's next token but one.
void take_head_draft(Sequence& sequence) {
    DraftState& state = *sequence.draft_state;
    if (state.head_control.length() == 0 || !state.head_draft ||
        state.head_draft->position != sequence.length())
        return;
    state.drafts = {state.head_draft->token};
    state.source = DraftSource::head;
}

} // namespace

uint32_t DraftPlanner::rows_max() const {
    return std::min(limits_.batch_rows_max, limits_.output_rows_max) -
           static_cast<uint32_t>(admission_.running().size());
}

/// Returns the maximum number of a sequence's drafts in a step: they, and the row before them, are pending
/// rows in recurrent layers.
uint32_t DraftPlanner::pending_drafts_max() const {
    return limits_.state_slots == 0 ? UINT32_MAX : limits_.pending_rows_max - 1;
}

bool DraftPlanner::needs_all_tokens(const Sequence& sequence) const {
    return sequence.draft_state && !sequence.draft_state->is_paused() && rows_max() > 0;
}

std::vector<DraftRequest> DraftPlanner::draft() {
    std::vector<DraftRequest> requests;
    uint32_t rows = rows_max(); // the model drafts no more than these can verify
    for (Sequence* sequence : admission_.running()) {
        if (!can_draft(*sequence))
            continue;
        const DraftState& state = *sequence->draft_state;
        uint32_t tokens_max =
            std::min({rows, sequence->length_max - sequence->length() - 1, pending_drafts_max()});
        look_up(*sequence, tokens_max);
        if (state.drafts.empty() && tokens_max > 0)
            take_head_draft(*sequence);
        rows -= static_cast<uint32_t>(state.drafts.size());
        tokens_max = std::min(tokens_max, state.model_control.length());
        if (!state.drafts.empty() || tokens_max == 0 || !sequence->request->embeddings.empty())
            continue; // the draft model cannot read embeddings
        rows -= tokens_max;
        requests.push_back({.request = sequence->id.request,
                            .text = {sequence->tokens, sequence->kinds},
                            .sampling = sequence->request->sampling,
                            .cache_salt = sequence->request->cache_salt,
                            .tokens_max = tokens_max,
                            .confidence_min = state.options.confidence_min,
                            .is_caught_up = is_caught_up(*sequence)});
    }
    return requests;
}

void DraftPlanner::set_drafts(std::span<const DraftRequest> requests, std::vector<ModelDrafts> drafts) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        Sequence* const sequence = store_.find({.request = requests[i].request});
        if (sequence == nullptr)
            continue;
        std::vector<TokenId>& tokens = drafts[i].tokens;
        const auto foreign = std::find_if(tokens.begin(), tokens.end(),
                                          [&](TokenId token) { return token >= limits_.vocabulary; });
        tokens.erase(foreign, tokens.end()); // the draft model's vocabulary may have more padding
        DraftState& state = *sequence->draft_state;
        state.drafts = std::move(tokens);
        state.source = DraftSource::model;
        if (drafts[i].is_caught_up)
            state.computed_by_model = sequence->length();
    }
}

void DraftPlanner::drop_model() {
    has_model_ = false;
    for (auto& [id, sequence] : store_.all()) {
        if (sequence.draft_state != nullptr)
            sequence.draft_state->drop_model();
    }
}

/// Returns the number of a sequence's drafts that fit into the batch, after its own row.
uint32_t DraftPlanner::drafts_that_fit(const Sequence& sequence) const {
    auto count = static_cast<uint32_t>(sequence.draft_state->drafts.size());
    count = std::min({count, builder_.spare_rows(), pending_drafts_max()});
    // Each draft row may need a slot, and so may the regular row of every sequence.
    const std::size_t slots =
        builder_.free_slots() - std::min(builder_.free_slots(), admission_.running().size());
    return std::min(count, static_cast<uint32_t>(slots));
}

void DraftPlanner::reserve(Sequence& sequence) {
    if (sequence.draft_state == nullptr)
        return;
    if (!can_draft(sequence))
        return sequence.draft_state->drafts.clear();
    std::vector<TokenId>& drafts = sequence.draft_state->drafts;
    drafts.resize(drafts_that_fit(sequence));
    const auto spare = static_cast<uint32_t>(admission_.running().size());
    const uint32_t first = sequence.computed_tokens + 1;
    if (!drafts.empty() && !cache_.reserve(sequence.held, first, first + static_cast<uint32_t>(drafts.size()),
                                           spare, builder_.copies()))
        drafts.clear();
}

void DraftPlanner::append_rows(Sequence& sequence) {
    if (sequence.draft_state == nullptr)
        return;
    DraftState& state = *sequence.draft_state;
    if (state.drafts.empty())
        return state.skip();
    builder_.append_drafts(sequence, state.drafts);
    const auto count = static_cast<uint32_t>(state.drafts.size());
    admission_.charge(sequence.request->client, count);
    builder_.take_spare_rows(count);
    state.drafts.clear();
    state.in_flight = count;
    state.accept_end = sequence.computed_tokens;
    state.step_accepted = 0;
    state.rejected += count; // until they are accepted
    sequence.slot.reset();   // the next token is known once all of them are read
}

bool DraftPlanner::accept(Sequence& sequence, const PendingOutput& pending) {
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

void DraftPlanner::take_draft(Sequence& sequence, const PendingOutput& pending, const RowOutput& output) {
    if (!pending.requests_draft || !sequence.draft_state)
        return;
    if (!output.draft) {
        sequence.draft_state->head_control.record(1, 0, DraftSource::head, costs_);
        return;
    }
    sequence.draft_state->head_draft = {.position = pending.position + 2, .token = output.draft->token};
}

void DraftPlanner::resolve(const Step& step, std::size_t last) {
    const PendingOutput& pending = step[last];
    if (!pending.draft || (last + 1 < step.size() && step[last + 1].sequence == pending.sequence))
        return;
    Sequence* const sequence = store_.find(pending.sequence);
    if (sequence == nullptr)
        return;
    DraftState& state = *sequence->draft_state;
    state.finish_step(costs_);
    const uint32_t last_known = sequence->length() - (sequence->constraint_state.parked ? 0 : 1);
    sequence->computed_tokens = std::min({sequence->computed_tokens, state.accept_end, last_known});
}

} // namespace etna::engine
