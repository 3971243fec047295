#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <new>
#include <utility>

// Constrained sequences: short constraint work runs inline, and slow work on the workers, while the sequence
// skips steps.
namespace etna::engine {
namespace {

/// A constraint whose work exceeded its time slice on the engine's thread goes to the workers at most this
/// many times before the engine's thread tries it again.
constexpr uint32_t skips_max = 63;

} // namespace

/// Returns whether the constraint's getters of `part` can be called; if not, a job is computing them. Errors:
/// the job's; they persist.
Result<bool> Scheduler::has_results(Sequence& sequence, Constraint::Part part) {
    ConstraintState& state = sequence.constraint_state;
    if (sequence.constraint == nullptr)
        return true;
    if (state.job != nullptr) {
        if (!state.job->is_done())
            return false;
        if (state.job->error())
            return *state.job->error();
        state.known = state.job->part();
        state.job.reset();
    }
    if (state.known && *state.known >= part)
        return true;
    try {
        if (!prepare_now(sequence, part)) {
            state.job = workers_->begin(sequence.constraint, part);
            return false;
        }
    } catch (const std::bad_alloc&) { // only this request fails
        return Error{ErrorKind::out_of_memory, "a grammar ran out of host memory"};
    }
    state.known = part;
    return true;
}

/// Runs the work inline if the step has time left; returns whether it is done. Each time that the work
/// exceeds its time slice, it is tried inline half as often.
bool Scheduler::prepare_now(Sequence& sequence, Constraint::Part part) {
    ConstraintState& state = sequence.constraint_state;
    if (workers_ == nullptr) {
        const Constraint::TimeSlice unlimited = {.until = Clock::time_point::max(), .may_wait = true};
        while (!sequence.constraint->prepare(part, unlimited)) {
        }
        return true;
    }
    if (!workers_->has_time())
        return false;
    if (state.skips > 0) {
        --state.skips;
        return false;
    }
    const bool is_done = workers_->prepare_now(*sequence.constraint, part);
    state.backoff = is_done ? state.backoff / 2 : std::min(state.backoff * 2 + 1, skips_max);
    state.skips = is_done ? 0 : state.backoff;
    return is_done;
}

void Scheduler::prepare_constraints() {
    if (steps_.empty())
        return;
    for (const PendingOutput& pending : steps_.back()) {
        const auto found = sequences_.find(pending.sequence);
        if (found == sequences_.end() || pending.position + 1 != found->second.length())
            continue;
        // Errors are returned again when the logits are read.
        (void)has_results(found->second, Constraint::Part::tokens);
    }
}

void Scheduler::stall(const Sequence& sequence) {
    if (std::find(stalled_.begin(), stalled_.end(), sequence.id) == stalled_.end())
        stalled_.push_back(sequence.id);
}

/// Stores the output of a row until the allowed tokens are known. The sample of a draft's row is pending from
/// now on, as any other.
void Scheduler::park(Sequence& sequence, const PendingOutput& pending, const RowOutput& output) {
    sequence.pending_samples += pending.draft ? 1 : 0;
    sequence.constraint_state.parked = {.position = pending.position, .output = output};
    stall(sequence);
}

/// Resumes the sequences whose constraint has finished its work.
void Scheduler::resume_stalled(Updates& updates, Clock::time_point now) {
    for (const SequenceId id : std::exchange(stalled_, {})) {
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
        ETNA_TRY(const bool has_end, has_results(sequence, part));
        sequence.constraint_state.waits = !has_end;
        if (!has_end) {
            stall(sequence);
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
        const auto token = next_forced(sequence);
        if (!token)
            return {};
        sequence.append(*token);
        emit(updates, sequence.id.request, 0, TokenEvent{.token = *token});
    }
}

/// Returns the next forced token, if there is one. Queries the constraint once after each sampled token.
std::optional<TokenId> Scheduler::next_forced(Sequence& sequence) {
    if (sequence.constraint == nullptr)
        return std::nullopt;
    auto& forced = sequence.constraint_state.forced;
    if (!forced) {
        const bool is_free = sequence.bias_at(sequence.length() - 1).empty();
        forced = is_free ? sequence.constraint->forced() : std::vector<TokenId>();
        std::reverse(forced->begin(), forced->end());
    }
    if (!forced->empty() && sequence.is_end(forced->back()))
        forced->clear(); // an end token is sampled, and ends the sequence
    if (forced->empty())
        return std::nullopt;
    const TokenId token = forced->back();
    forced->pop_back();
    return token;
}

} // namespace etna::engine
