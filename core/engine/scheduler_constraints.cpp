#include "core/engine/scheduler.hpp"

#include <utility>

// Constrained sequences: short constraint work runs inline, and slow work on the workers, while the sequence
// skips steps.
namespace etna::engine {

void Scheduler::prepare_constraints() {
    if (steps_.empty())
        return;
    for (const PendingOutput& pending : steps_.back()) {
        const auto found = sequences_.find(pending.sequence);
        if (found == sequences_.end() || pending.position + 1 != found->second.length())
            continue;
        // Errors are returned again when the logits are read.
        (void)constraints_.has_results(found->second, Constraint::Part::tokens);
    }
}

/// Stores the output of a row until the allowed tokens are known. The sample of a draft's row is pending from
/// now on, as any other.
void Scheduler::park(Sequence& sequence, const PendingOutput& pending, const RowOutput& output) {
    sequence.pending_samples += pending.draft ? 1 : 0;
    sequence.constraint_state.parked = {.position = pending.position, .output = output};
    constraints_.stall(sequence);
}

/// Resumes the sequences whose constraint has finished its work.
void Scheduler::resume_stalled(Updates& updates, Clock::time_point now) {
    for (const SequenceId id : constraints_.take_stalled()) {
        const auto found = sequences_.find(id);
        if (found == sequences_.end())
            continue;
        if (const Status status = resume(found->second, updates, now); !status)
            fail(found->second, status.error(), updates, now);
    }
}

/// Resumes a sequence if its constraint has results. Errors: as take_output(); the sequence still exists
/// then.
Status Scheduler::resume(Sequence& sequence, Updates& updates, Clock::time_point now) {
    const SequenceId id = sequence.id;
    if (sequence.constraint_state.waits && sequence.continuations > 0) {
        continue_beams(beams_.at(id.request), id.request, updates, now);
        return {};
    }
    if (sequence.constraint_state.waits)
        ETNA_CHECK(finish_or_force(sequence, updates, now));
    if (!sequences_.contains(id) || sequence.constraint_state.waits || !sequence.constraint_state.parked)
        return {};
    const ConstraintState::Parked parked = *std::exchange(sequence.constraint_state.parked, std::nullopt);
    if (parked.position + 1 < sequence.length()) { // its token was forced
        --sequence.pending_samples;
        return {};
    }
    return take_output(sequence, {.sequence = id, .position = parked.position}, parked.output, updates, now);
}

/// Ends the sequence if nothing may follow its last token; otherwise appends the tokens that the constraint
/// forces: known tokens, whose rows have no output. Errors: as Constraint::is_over() and has_results().
Status Scheduler::finish_or_force(Sequence& sequence, Updates& updates, Clock::time_point now) {
    while (true) {
        const bool needs_forced = !sequence.constraint_state.forced;
        const auto part = needs_forced ? Constraint::Part::forced : Constraint::Part::end;
        ETNA_TRY(const bool has_end, constraints_.has_results(sequence, part));
        sequence.constraint_state.waits = !has_end;
        if (!has_end) {
            constraints_.stall(sequence);
            return {};
        }
        bool is_over = false;
        if (sequence.constraint != nullptr) {
            ETNA_TRY(is_over, sequence.constraint->is_over());
        }
        if (is_over || sequence.length() == sequence.length_max) {
            end(sequence, is_over ? FinishReason::stop : FinishReason::length, updates, now);
            return {};
        }
        const auto token = ConstraintRunner::next_forced(sequence);
        if (!token)
            return {};
        sequence.append(*token);
        emit(updates, sequence.id.request, 0, TokenEvent{.token = *token});
    }
}

} // namespace etna::engine
