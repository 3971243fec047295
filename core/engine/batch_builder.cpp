#include "core/engine/batch_builder.hpp"

#include "core/engine/token_selection.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {

BatchBuilder::BatchBuilder(const Limits& limits) : limits_(limits) {
    for (uint32_t slot = limits.slots; slot > 0; --slot)
        free_slots_.push_back(slot - 1);
}

void BatchBuilder::begin(uint32_t spare_rows) {
    batch_.copies.clear();
    batch_.state_copies.clear();
    batch_.sequences.clear();
    batch_.rows.clear();
    batch_.embeddings.clear();
    batch_.runs_draft_head = limits_.has_draft_head;
    step_.clear();
    head_rows_ = 0;
    spare_rows_ = spare_rows;
}

void BatchBuilder::append_rows(Sequence& sequence, uint32_t count) {
    if (count == 0)
        return;
    append_view(sequence);
    sequence_begin_ = sequence.computed_tokens;
    for (uint32_t i = 0; i < count; ++i) {
        Row& row = append_row(sequence, std::nullopt);
        if (row.position + 1 == sequence.expected_length()) {
            sequence.slot = request_sample(sequence, row, std::nullopt);
            ++sequence.pending_samples;
        } else if (sequence.needs_prompt_output(row.position)) {
            request_prompt_output(sequence, row);
        }
    }
    sequence.held.recurrent.position = sequence.computed_tokens;
}

void BatchBuilder::append_drafts(Sequence& sequence, std::span<const TokenId> drafts) {
    for (const TokenId draft : drafts)
        request_sample(sequence, append_row(sequence, draft), draft);
    batch_.sequences.back().state_update = StateUpdate::defer;
    sequence.held.recurrent.position = sequence_begin_;
}

/// Appends a sequence to the batch: the rows that follow are its rows.
void BatchBuilder::append_view(const Sequence& sequence) {
    SequenceView& view = batch_.sequences.emplace_back();
    view.pages.assign(sequence.held.groups.begin(), sequence.held.groups.end());
    view.state_slot = sequence.held.recurrent.slot;
    view.state_position = sequence.held.recurrent.position;
}

/// Appends the row at a sequence's next position. `draft`: its token; empty: it is known, or in the slot.
Row& BatchBuilder::append_row(Sequence& sequence, std::optional<TokenId> draft) {
    const uint32_t position = sequence.computed_tokens++;
    Row& row = batch_.rows.emplace_back();
    row.kind = sequence.kind(position);
    row.sequence = static_cast<uint32_t>(batch_.sequences.size() - 1);
    row.set_position(position);
    row.attend_end = sequence.attend_end(position);
    row.rope_position = sequence.rope_position(position);
    if (draft) {
        row.value = *draft;
    } else if (const EmbeddingSegment* const segment = segment_at(sequence.request->embeddings, position)) {
        row.input = RowInput::embedding;
        row.value = static_cast<uint32_t>(batch_.embeddings.size());
        batch_.embeddings.push_back(segment->row(position));
    } else if (position < sequence.length()) {
        row.value = sequence.tokens[position];
    } else {
        row.input = RowInput::slot;
        row.value = *sequence.slot;
    }
    const bool knows_next = position + 1 < sequence.length() && sequence.tokens[position + 1] != no_token;
    if (limits_.has_draft_head && knows_next)
        row.next_token = sequence.tokens[position + 1];
    return row;
}

/// Requests the token after a row. Returns the slot that receives it; empty: the host draws it.
std::optional<uint32_t> BatchBuilder::request_sample(const Sequence& sequence, Row& row,
                                                     std::optional<TokenId> draft) {
    const OutputSpec spec = output_spec_for(sequence, row.position, limits_);
    row.output_kind = spec.output_kind;
    row.candidates = spec.candidates;
    std::optional<uint32_t> slot;
    if (row.output_kind == OutputKind::sampled) {
        slot = free_slots_.back();
        free_slots_.pop_back();
        row.sampling = sequence.request->sampling;
        row.output_slot = *slot;
        row.requests_draft = sequence.requests_head_draft(row.position);
    }
    head_rows_ += runs_head(row.output_kind) ? 1 : 0;
    step_.push_back({.sequence = sequence.id,
                     .position = row.position,
                     .slot = slot,
                     .draft = draft,
                     .requests_draft = row.requests_draft});
    return slot;
}

void BatchBuilder::request_prompt_output(Sequence& sequence, Row& row) {
    const Request& request = *sequence.request;
    row.output_kind = request.hidden ? OutputKind::hidden : OutputKind::logits;
    row.candidates = request.hidden ? 0 : std::min(request.prompt_candidates.value_or(0), limits_.vocabulary);
    head_rows_ += runs_head(row.output_kind) ? 1 : 0;
    sequence.prompt_output_begin =
        request.hidden == HiddenRows::first ? sequence.prompt_tokens - 1 : row.position + 1;
    step_.push_back({.sequence = sequence.id, .position = row.position});
}

bool BatchBuilder::has_output_for(const Sequence& sequence) const {
    const auto samples_on_device = [&] {
        return output_spec_for(sequence, sequence.expected_length() - 1, limits_).output_kind ==
               OutputKind::sampled;
    };
    return sequence.request->hidden || (outputs_left() > 0 && (!free_slots_.empty() || !samples_on_device()));
}

const Batch& BatchBuilder::finish() {
    if (!batch_.rows.empty())
        steps_.push_back(std::exchange(step_, {}));
    return batch_;
}

Result<Step> BatchBuilder::take_step(std::size_t output_count) {
    const std::size_t requested = steps_.empty() ? 0 : steps_.front().size();
    if (steps_.empty() || requested != output_count) {
        return Error{ErrorKind::internal,
                     fmt::format("a step has {} outputs; {} were requested", output_count, requested)};
    }
    Step step = std::move(steps_.front());
    steps_.pop_front();
    for (const PendingOutput& pending : step) {
        if (pending.slot)
            free_slots_.push_back(*pending.slot);
    }
    return step;
}

Status BatchBuilder::verify() const {
    std::vector<bool> slot_is_used(limits_.slots);
    std::size_t used = free_slots_.size();
    for (const uint32_t slot : free_slots_)
        slot_is_used[slot] = true;
    for (const Step& step : steps_) {
        for (const PendingOutput& pending : step) {
            if (!pending.slot)
                continue;
            slot_is_used[*pending.slot] = true;
            ++used;
        }
    }
    if (used != limits_.slots ||
        std::find(slot_is_used.begin(), slot_is_used.end(), false) != slot_is_used.end())
        return Error{ErrorKind::internal, "a slot is lost, or used twice"};
    return {};
}

} // namespace etna::engine
