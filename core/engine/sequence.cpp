#include "core/engine/sequence.hpp"

#include "core/engine/token_selection.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace etna::engine {
namespace {

uint32_t sources_of(const Speculation& speculation) {
    return (speculation.texts != nullptr ? 1 : 0) + (speculation.uses_model ? 1 : 0) +
           (speculation.uses_head ? 1 : 0);
}

constexpr uint32_t head_tokens_max = 1; ///< of a step

} // namespace

DraftState::DraftState(const Speculation& speculation)
    : options(speculation),
      lookup_control(options.texts != nullptr ? options.tokens_max : 0, sources_of(options)),
      model_control(options.uses_model ? options.tokens_max : 0, sources_of(options)),
      head_control(options.uses_head ? head_tokens_max : 0, sources_of(options)), lookup(options.texts) {}

void DraftState::drop_model() {
    options.uses_model = false;
    model_control = DraftLengthControl(0);
}

void DraftState::skip() {
    lookup_control.skip();
    model_control.skip();
    head_control.skip();
}

DraftLengthControl& DraftState::control_of(DraftSource one) {
    switch (one) {
    case DraftSource::model:
        return model_control;
    case DraftSource::head:
        return head_control;
    case DraftSource::lookup:
        break;
    }
    return lookup_control;
}

void DraftState::finish_step(const DraftCosts& costs) {
    for (const DraftSource one : {DraftSource::lookup, DraftSource::model, DraftSource::head}) {
        if (one == source) {
            control_of(one).record(in_flight, step_accepted, one, costs);
        } else {
            control_of(one).skip(step_accepted + 1);
        }
    }
    in_flight = 0;
}

void Sequence::append_end(TokenId token) {
    tokens.push_back(token);
    kinds.push_back(RowKind::decode);
    content_ids.push_back(content_id(token, length() - 1, rope_position(length() - 1), content_key));
}

void Sequence::append(TokenId token) {
    append_end(token);
    if (constraint != nullptr) {
        constraint->accept(token);
        constraint_state.advance();
    }
}

Sequence Sequence::fork(SequenceId new_id, StateCache& cache) const {
    assert(pending_samples == 0 && constraint_state.job == nullptr);
    Sequence copy = *this;
    copy.id = new_id;
    copy.held = cache.fork(held);
    copy.slot.reset();
    copy.draft_state.reset();
    if (constraint != nullptr)
        copy.constraint = constraint->fork();
    return copy;
}

uint32_t Sequence::attend_end(uint32_t position) const {
    if (request->attention == AttentionSpan::segment)
        return prompt_tokens;
    const EmbeddingSegment* const segment = segment_at(request->embeddings, position);
    const bool is_whole = segment != nullptr && segment->attention == AttentionSpan::segment;
    return is_whole ? segment->end() : position + 1;
}

RopePosition Sequence::rope_position(uint32_t position) const {
    if (position < request->rope_positions.size())
        return request->rope_positions[position];
    RopePosition rope{};
    rope.fill(rope_end + position - prompt_tokens);
    return rope;
}

bool Sequence::has_whole_segments() const {
    return request->attention == AttentionSpan::segment ||
           std::ranges::any_of(request->embeddings, [](const EmbeddingSegment& one) {
               return one.attention == AttentionSpan::segment;
           });
}

uint32_t Sequence::same_kind_end(uint32_t begin, uint32_t end) const {
    uint32_t same = begin;
    while (same < end && kind(same) == kind(begin))
        ++same;
    return same;
}

uint32_t Sequence::whole_segments_end(uint32_t begin, uint32_t end) const {
    if (end <= begin || attend_end(end - 1) <= end)
        return end;
    if (request->attention == AttentionSpan::segment)
        return begin;
    return std::max(begin, segment_at(request->embeddings, end - 1)->position);
}

namespace {

/// Returns Sequence::request: with ascending end tokens of the vocabulary, and min_tokens within the context.
std::shared_ptr<const Request> share(Request request, const Limits& limits) {
    std::erase_if(request.end_tokens, [&](TokenId token) { return token >= limits.vocabulary; });
    std::ranges::sort(request.end_tokens);
    request.min_tokens = std::min(request.min_tokens, limits.context_tokens);
    return std::make_shared<const Request>(std::move(request));
}

/// Returns the rotary position of the first token after a prompt of `length` tokens.
uint32_t rope_end_of(const std::vector<RopePosition>& positions, uint32_t length) {
    if (positions.empty())
        return length;
    uint32_t end = 0;
    for (const RopePosition& rope : positions)
        end = std::max(end, *std::ranges::max_element(rope) + 1);
    return end;
}

/// Returns Sequence::early_bias.
std::shared_ptr<const std::vector<sampling::LogitBias>> early_bias_of(const Request& request) {
    if (request.min_tokens == 0)
        return nullptr;
    std::vector<sampling::LogitBias> bias = request.logit_bias;
    for (const TokenId token : request.end_tokens)
        bias.push_back({token, -std::numeric_limits<float>::infinity()});
    return std::make_shared<const std::vector<sampling::LogitBias>>(std::move(bias));
}

/// The draft head reads samples on the device.
bool can_use_draft_head(const Sequence& sequence, const Speculation& speculation, const Limits& limits) {
    const uint32_t position = sequence.prompt_tokens + sequence.request->min_tokens;
    return limits.has_draft_head && !speculation.uses_model &&
           output_spec_for(sequence, position, limits).output_kind == OutputKind::sampled;
}

} // namespace

Sequence make_sequence(RequestId id, Request request, const Limits& limits, const StateCache& cache,
                       Clock::time_point now) {
    Sequence sequence;
    sequence.id = {.request = id};
    sequence.tokens = std::move(request.prompt);
    sequence.kinds = std::move(request.kinds);
    sequence.constraint = std::move(request.constraint);
    std::optional<Speculation> speculation = std::exchange(request.speculation, std::nullopt);
    sequence.request = share(std::move(request), limits);
    const Request& shared = *sequence.request;
    sequence.kinds.resize(sequence.tokens.size(), RowKind::prefill);
    sequence.content_key = cache.key();
    sequence.content_ids =
        content_ids(sequence.tokens, shared.embeddings, shared.rope_positions, cache.key());
    sequence.prompt_tokens = sequence.length();
    sequence.rope_end = rope_end_of(shared.rope_positions, sequence.prompt_tokens);
    sequence.held = cache.make_state(shared.cache_salt);
    if (shared.attention == AttentionSpan::segment) { // every row depends on the entire prompt
        const PageHash whole = page_hash(cache.key(), sequence.held.root, sequence.content());
        sequence.held.root = root_hash(cache.key(), whole[0], whole[1]); // unlike the hash of any page
    }
    sequence.early_bias = early_bias_of(shared);
    const bool returns_prompt =
        shared.prompt_candidates || (shared.hidden && shared.hidden != HiddenRows::last);
    sequence.prompt_output_begin = returns_prompt ? 0 : sequence.prompt_tokens - 1;
    if (speculation && !shared.beams) {
        speculation->uses_head = speculation->uses_head && can_use_draft_head(sequence, *speculation, limits);
        sequence.draft_state = std::make_shared<DraftState>(*speculation);
    }
    const uint32_t room = limits.context_tokens - sequence.prompt_tokens;
    sequence.length_max = sequence.prompt_tokens + std::min(shared.max_tokens.value_or(room), room);
    sequence.submitted = now;
    return sequence;
}

Finished describe_end(const Sequence& sequence, Clock::time_point now) {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    Finished finished;
    finished.prompt_tokens = sequence.prompt_tokens;
    finished.completion_tokens = sequence.length() - sequence.prompt_tokens;
    finished.cached_tokens = sequence.cached_tokens;
    if (sequence.draft_state != nullptr) {
        finished.accepted_drafts = sequence.draft_state->accepted;
        finished.rejected_drafts = sequence.draft_state->rejected;
        finished.accepted_positions = sequence.draft_state->accepted_positions;
    }
    const Clock::time_point admitted = sequence.admitted.value_or(now);
    const Clock::time_point first_token = sequence.first_token.value_or(now);
    finished.timings.queue_ms = Milliseconds(admitted - sequence.submitted).count();
    finished.timings.prompt_ms = Milliseconds(first_token - admitted).count();
    finished.timings.generation_ms = Milliseconds(now - first_token).count();
    return finished;
}

Finished describe_failure(const Sequence& sequence, const Error& error, Clock::time_point now) {
    Finished finished = describe_end(sequence, now);
    finished.reason = FinishReason::error;
    finished.error = error;
    return finished;
}

} // namespace etna::engine
