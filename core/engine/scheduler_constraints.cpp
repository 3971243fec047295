#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <new>
#include <utility>

// Constrained sequences: short constraint work runs inline, and slow work on the workers, while the sequence
// skips steps.
namespace etna::engine {
namespace {

/// A constraint whose work exceeded its time on the engine's thread is left to the workers at most this many
/// times before the engine's thread tries again.
constexpr uint32_t skips_max = 63;

} // namespace

/// Returns whether the constraint's getters of `part` can be called; if not, a job is computing them. Errors:
/// why the job failed; they persist.
Result<bool> Scheduler::is_known(Sequence& sequence, Constraint::Part part) {
    Following& following = sequence.following;
    if (sequence.constraint == nullptr)
        return true;
    if (following.job != nullptr) {
        if (!following.job->is_done())
            return false;
        if (following.job->error())
            return *following.job->error();
        following.known = following.job->part();
        following.job.reset();
    }
    if (following.known && *following.known >= part)
        return true;
    try {
        if (!prepare_now(sequence, part)) {
            following.job = workers_->begin(sequence.constraint, part);
            return false;
        }
    } catch (const std::bad_alloc&) { // only this request fails
        return Error{ErrorKind::out_of_memory, "a grammar ran out of host memory"};
    }
    following.known = part;
    return true;
}

/// Each time that the work exceeds its time on the engine's thread, it is tried there half as often.
bool Scheduler::prepare_now(Sequence& sequence, Constraint::Part part) {
    Following& following = sequence.following;
    if (workers_ == nullptr) {
        const Constraint::Piece whole = {.until = Clock::time_point::max(), .may_wait = true};
        while (!sequence.constraint->prepare(part, whole)) {
        }
        return true;
    }
    if (!workers_->has_time())
        return false;
    if (following.skips > 0) {
        --following.skips;
        return false;
    }
    const bool is_done = workers_->prepare_now(*sequence.constraint, part);
    following.backoff = is_done ? following.backoff / 2 : std::min(following.backoff * 2 + 1, skips_max);
    following.skips = is_done ? 0 : following.backoff;
    return is_done;
}

void Scheduler::prepare_constraints() {
    if (steps_.empty())
        return;
    for (const Wanted& wanted : steps_.back()) {
        const auto found = sequences_.find(wanted.sequence);
        if (found == sequences_.end() || wanted.index + 1 != found->second.length())
            continue;
        (void)is_known(found->second, Constraint::Part::tokens); // reported when the logits are read
    }
}

void Scheduler::stall(const Sequence& sequence) {
    if (std::find(stalled_.begin(), stalled_.end(), sequence.id) == stalled_.end())
        stalled_.push_back(sequence.id);
}

/// Stores the output of a row until the allowed tokens are known. That of a draft counts as unread from now
/// on, like any other.
void Scheduler::park(Sequence& sequence, const Wanted& wanted, const RowOutput& output) {
    sequence.unread += wanted.draft ? 1 : 0;
    sequence.following.parked = {.index = wanted.index, .output = output};
    stall(sequence);
}

/// Resumes the sequences whose constraint has finished its work.
void Scheduler::go_on_with_stalled(Updates& updates, Clock::time_point now) {
    for (const SequenceId id : std::exchange(stalled_, {})) {
        const auto found = sequences_.find(id);
        if (found == sequences_.end())
            continue;
        if (const Status status = go_on(found->second, updates, now); !status)
            fail(found->second, status.error(), updates, now);
    }
}

/// Errors: as take_output(); the sequence still exists then.
Status Scheduler::go_on(Sequence& sequence, Updates& updates, Clock::time_point now) {
    const SequenceId id = sequence.id;
    if (sequence.following.waits && sequence.continuations > 0) {
        settle_branches(beams_.at(id.request), id.request, updates, now);
        return {};
    }
    if (sequence.following.waits)
        ETNA_CHECK(follow(sequence, updates, now));
    if (!sequences_.contains(id) || sequence.following.waits || !sequence.following.parked)
        return {};
    const Following::Parked parked = *std::exchange(sequence.following.parked, std::nullopt);
    if (parked.index + 1 < sequence.length()) { // its token was forced
        --sequence.unread;
        return {};
    }
    return take_output(sequence, {.sequence = id, .index = parked.index}, parked.output, updates, now);
}

/// Ends the sequence if nothing may follow its last token; otherwise appends the tokens that the constraint
/// forces: known tokens, whose rows have no output. Errors: as Constraint::is_over() and is_known().
Status Scheduler::follow(Sequence& sequence, Updates& updates, Clock::time_point now) {
    while (true) {
        const bool asks_forced = !sequence.following.forced;
        const auto part = asks_forced ? Constraint::Part::forced : Constraint::Part::end;
        ETNA_TRY(const bool knows_end, is_known(sequence, part));
        sequence.following.waits = !knows_end;
        if (!knows_end) {
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
        tell(updates, sequence.id.request, 0, TokenEvent{.token = *token});
    }
}

/// Queries the constraint once after each drawn token.
std::optional<TokenId> Scheduler::next_forced(Sequence& sequence) {
    if (sequence.constraint == nullptr)
        return std::nullopt;
    auto& forced = sequence.following.forced;
    if (!forced) {
        const bool is_free = sequence.bias_at(sequence.length() - 1).empty();
        forced = is_free ? sequence.constraint->forced() : std::vector<TokenId>();
        std::reverse(forced->begin(), forced->end());
    }
    if (!forced->empty() && sequence.is_end(forced->back()))
        forced->clear(); // it has to be drawn, and ends the sequence
    if (forced->empty())
        return std::nullopt;
    const TokenId token = forced->back();
    forced->pop_back();
    return token;
}

} // namespace etna::engine
