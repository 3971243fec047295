#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace etna::engine {
namespace {

/// Returns the maximum number of running sequences, so that a decoding one always gets a row and an output,
/// and mostly a slot.
uint32_t running_max(const Limits& limits) {
    const uint32_t outputs = limits.is_encoder ? limits.batch_rows_max : limits.output_rows_max;
    return std::min({limits.sequences_max, limits.batch_rows_max, outputs,
                     std::max(limits.slots / limits.in_flight_max, 1U)});
}

/// Whether a sequence's own request caused an error, so that others can continue.
bool is_own_fault(const Error& error) {
    return error.kind == ErrorKind::invalid_argument || error.kind == ErrorKind::unsupported ||
           error.kind == ErrorKind::out_of_memory; // of its constraint
}

} // namespace

Scheduler::Scheduler(const Limits& limits, const SchedulerOptions& options)
    : limits_(limits), admission_(running_max(limits)), cache_(limits, options.hash_key, options.model_salt),
      store_(admission_, cache_, constraints_), builder_(limits_), beams_(store_, constraints_),
      finisher_(store_, beams_), reader_(limits_, store_, beams_, constraints_, finisher_),
      drafts_(limits_, admission_, cache_, store_, builder_),
      decode_(admission_, cache_, store_, builder_, drafts_, finisher_),
      prefill_(limits_, admission_, cache_, store_, builder_, finisher_) {}

void Scheduler::add(RequestId id, Request request, Clock::time_point now,
                    std::optional<RequestId> request_group) {
    assert(store_.all().empty() || store_.all().rbegin()->first.request < id);
    const std::optional<BeamOptions> beams = request.beams;
    if (request.speculation && !drafts_.has_model())
        request.speculation->uses_model = false;
    Sequence sequence = make_sequence(id, std::move(request), limits_, cache_, now);
    sequence.request_group = request_group.value_or(id);
    Sequence& first = store_.add(std::move(sequence));
    if (beams)
        beams_.begin(*beams, first);
}

const Batch& Scheduler::schedule(Updates& updates, Clock::time_point now) {
    reader_.resume_stalled(updates, now);
    store_.advance_windows();
    builder_.begin(prefill_.lacks_rows() ? 0 : drafts_.rows_max());
    prefill_.rebalance();
    decode_.plan(updates, now);
    prefill_.plan(updates, now);
    admission_.end_batch();
    store_.publish_running();
    if (builder_.row_count() > 0)
        cache_.take_state_copies(builder_.state_copies());
    cache_.end_batch();
    return builder_.finish();
}

void Scheduler::prepare_constraints() {
    if (const Step* const step = builder_.newest_step(); step != nullptr)
        reader_.prepare_constraints(*step);
}

Status Scheduler::process_outputs(const Outputs& outputs, Updates& updates, Clock::time_point now) {
    ETNA_TRY(const Step step, builder_.take_step(outputs.rows.size()));
    for (std::size_t i = 0; i < step.size(); ++i) {
        const PendingOutput& pending = step[i];
        Sequence* const sequence = store_.find(pending.sequence);
        if (sequence == nullptr)
            continue; // surplus row: the request has ended
        Status status;
        const bool is_accepted = DraftPlanner::accept(*sequence, pending);
        if (is_accepted)
            drafts_.take_draft(*sequence, pending, outputs.rows[i]);
        // A constraint may have forced the token after a draft.
        const bool is_new = !pending.draft || pending.position + 1 == sequence->length();
        if (is_accepted && is_new)
            status = reader_.read(*sequence, pending, outputs.rows[i], updates, now);
        drafts_.resolve(step, i);
        if (status)
            continue;
        if (!outputs.rows[i].error && !is_own_fault(status.error()))
            return status;
        finisher_.fail(*sequence, status.error(), updates, now); // the others continue
    }
    return {};
}

void Scheduler::cancel(RequestId id, Updates& updates, Clock::time_point now) {
    if (Sequence* const one = store_.first_of(id); one != nullptr)
        finisher_.end(*one, FinishReason::cancelled, updates, now);
}

void Scheduler::end_all(FinishReason reason, const std::optional<Error>& error, Updates& updates,
                        Clock::time_point now) {
    while (!store_.all().empty()) {
        Sequence& sequence = store_.all().begin()->second;
        Finished finished = describe_end(sequence, now);
        finished.reason = reason;
        finished.error = error;
        finisher_.end(sequence, std::move(finished), updates);
    }
}

std::optional<PromptProgress> Scheduler::progress(RequestId id) const {
    const Sequence* const one = store_.first_of(id);
    if (one == nullptr || !one->admitted)
        return std::nullopt;
    return PromptProgress{.cached_tokens = one->cached_tokens,
                          .computed_tokens = std::min(one->computed_tokens, one->prompt_tokens)};
}

std::optional<uint32_t> Scheduler::rows_left(RequestId id) const {
    const Sequence* const one = store_.find({.request = id});
    if (one == nullptr || one->state == SequenceState::waiting)
        return std::nullopt;
    return one->length() - std::min(one->computed_tokens, one->length());
}

bool Scheduler::has_backpressure() const {
    return std::any_of(store_.all().begin(), store_.all().end(),
                       [](const auto& entry) { return entry.second.backpressure == Backpressure::on; });
}

Status Scheduler::verify() const {
    ETNA_CHECK(store_.verify());
    return builder_.verify();
}

} // namespace etna::engine
