#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <new>
#include <utility>

// Sequences that are kept to a constraint: what it says is found at once where that is short, and otherwise
// elsewhere, while the sequence takes no part in the steps.
namespace etna::engine {
namespace {

/// A constraint whose work did not fit the engine's thread is left to others so many times at most before it
/// is tried there again.
constexpr uint32_t skips_max = 63;

} // namespace

/// Whether the constraint knows what is asked for next; else it is at work on it. Errors: what kept it from
/// finding it; they stay.
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
    } catch (const std::bad_alloc&) { // it costs this request alone
        return Error{ErrorKind::out_of_memory, "a grammar ran out of host memory"};
    }
    following.known = part;
    return true;
}

/// Each time that it takes longer than the engine's thread has, it is tried there half as often.
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
        (void)is_known(found->second, Constraint::Part::tokens); // errors are told when the logits are there
    }
}

void Scheduler::stall(const Sequence& sequence) {
    if (std::find(stalled_.begin(), stalled_.end(), sequence.id) == stalled_.end())
        stalled_.push_back(sequence.id);
}

/// Keeps the answer to a row until it is known which tokens may come. That of a draft counts as unread from
/// now on, as any other.
void Scheduler::park(Sequence& sequence, const Wanted& wanted, const RowOutput& output) {
    sequence.unread += wanted.draft ? 1 : 0;
    sequence.following.parked = {.index = wanted.index, .output = output};
    stall(sequence);
}

/// Goes on with those whose constraint knows more now.
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
    if (parked.index + 1 < sequence.length()) { // what comes there was forced
        --sequence.unread;
        return {};
    }
    return take_output(sequence, {.sequence = id, .index = parked.index}, parked.output, updates, now);
}

/// Ends the sequence where nothing may follow its last token, or goes on with what the constraint leaves no
/// choice about: known tokens, whose rows tell nothing. Errors: as Constraint::is_over() and is_known().
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

/// The constraint is asked once behind each token that was drawn.
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
        forced->clear(); // it is left to be drawn, and to end the sequence
    if (forced->empty())
        return std::nullopt;
    const TokenId token = forced->back();
    forced->pop_back();
    return token;
}

} // namespace etna::engine
