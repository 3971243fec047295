#include "core/engine/constraint_runner.hpp"

#include <algorithm>
#include <new>

namespace etna::engine {
namespace {

/// A constraint whose work exceeded its time slice on the engine's thread goes to the workers at most this
/// many times before the engine's thread tries it again.
constexpr uint32_t skips_max = 63;

} // namespace

Result<bool> ConstraintRunner::has_results(Sequence& sequence, Constraint::Part part) {
    ConstraintState& state = sequence.constraint_state;
    if (!sequence.is_restricted())
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
bool ConstraintRunner::prepare_now(Sequence& sequence, Constraint::Part part) {
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

void ConstraintRunner::stall(const Sequence& sequence) {
    if (std::find(stalled_.begin(), stalled_.end(), sequence.id) == stalled_.end())
        stalled_.push_back(sequence.id);
}

std::optional<TokenId> ConstraintRunner::next_forced(Sequence& sequence) {
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

void ConstraintRunner::dispose(Sequence& sequence) {
    if (sequence.constraint_state.job != nullptr)
        sequence.constraint_state.job->cancel();
    if (workers_ != nullptr && sequence.constraint != nullptr)
        workers_->dispose(std::move(sequence.constraint));
}

} // namespace etna::engine
