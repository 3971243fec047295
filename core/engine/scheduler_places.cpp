#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <utility>

// Admission and preemption: which sequences run, and which wait.
namespace etna::engine {
namespace {

/// The quantum: tokens that a sequence gets at least before it yields to another client, and the fraction of
/// its length if that is more, because it may have to be recomputed from its start.
constexpr uint32_t turn_tokens_min = 256;
constexpr uint32_t turn_part = 4;

} // namespace

/// The number of running sequences of the caller. Hypotheses that wait for others of their search do not
/// count; otherwise those others would never come before other callers.
std::size_t Scheduler::places_of(RequestId caller) const {
    return static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(), [&](const Sequence* one) {
        return one->caller == caller && !one->is_answered;
    }));
}

/// Returns the next sequence of a line to run: the oldest of the caller with the fewest running ones. Null:
/// none can run.
Sequence* Scheduler::next_of(const WaitingLine::Line& line) const {
    Sequence* next = nullptr;
    std::size_t fewest = 0;
    for (Sequence* one : line) {
        if (one->pace == Pace::hold || one->is_answered || one->following.is_stalled())
            continue;
        const std::size_t places = places_of(one->caller);
        if (next == nullptr || places < fewest) {
            next = one;
            fewest = places;
        }
        if (fewest == 0)
            break;
    }
    return next;
}

/// Returns the next waiting sequence to run. Null: none can run.
Sequence* Scheduler::next_waiting() const {
    Sequence* next = nullptr;
    for (const auto& [client, line] : waiting_.lines()) {
        if (next != nullptr && shares_.comes_before(next->client, client))
            continue;
        if (Sequence* const one = next_of(line); one != nullptr)
            next = one;
    }
    return next;
}

/// Preempts one sequence if another is more entitled to run; it has no rows in this batch yet. One per batch
/// is enough.
void Scheduler::share_places() {
    const bool has_place = running_.size() < running_max_;
    if ((has_place && !lacks_pages_) || held() != nullptr)
        return;
    const Sequence* const next = next_waiting();
    if (next == nullptr)
        return;
    Sequence* yielding = owed_by_client(*next);
    if (yielding == nullptr && !has_place)
        yielding = owed_by_caller(*next);
    if (yielding != nullptr)
        preempt(*yielding);
}

/// Returns the youngest sequence of another client that was served more than `next`'s, of the client that was
/// served most: that client runs two more, or one more and this sequence has used its quantum. Null: none.
Sequence* Scheduler::owed_by_client(const Sequence& next) const {
    Sequence* owed = nullptr;
    for (auto place = running_.rbegin(); place != running_.rend(); ++place) {
        Sequence& one = **place;
        if (one.client == next.client || !shares_.may_take_place(next.client, one.client))
            continue;
        const bool has_had_turn = one.length() >= one.turn_end;
        if (!has_had_turn && !shares_.is_crowding(one.client, next.client))
            continue;
        if (owed == nullptr || shares_.comes_before(owed->client, one.client))
            owed = &one;
    }
    return owed;
}

/// If `next`'s caller has no running sequence: the youngest sequence of the caller of the same client that
/// has the most, unless it is its only one, so that a request with many answers does not block the others to
/// its end.
Sequence* Scheduler::owed_by_caller(const Sequence& next) const {
    if (places_of(next.caller) > 0)
        return nullptr;
    Sequence* youngest = nullptr;
    std::size_t most = 1;
    for (auto one = running_.rbegin(); one != running_.rend(); ++one) {
        if ((*one)->client != next.client)
            continue;
        if (const std::size_t places = places_of((*one)->caller); places > most) {
            youngest = *one;
            most = places;
        }
    }
    return youngest;
}

void Scheduler::start_running(Sequence& sequence) {
    insert_by_age(running_, sequence);
    shares_.take_place(sequence.client);
    sequence.turn_end = sequence.length() + std::max(turn_tokens_min, sequence.length() / turn_part);
}

/// No effect if it does not run.
void Scheduler::stop_running(Sequence& sequence) {
    if (std::erase(running_, &sequence) > 0)
        shares_.give_place(sequence.client);
}

/// Makes a sequence wait, without pages and with nothing computed.
void Scheduler::wait(Sequence& sequence) {
    cache_.release(sequence.pages);
    sequence.computed = 0;
    sequence.state = SequenceState::waiting;
    waiting_.insert(sequence);
}

void Scheduler::preempt(Sequence& sequence) {
    stop_running(sequence);
    cache_.publish_all(sequence.pages, sequence.content(), std::min(sequence.computed, sequence.length()));
    ++preemptions_;
    wait(sequence);
}

/// Returns the youngest sequence that is held, or waits for others of its search; null: none.
Sequence* Scheduler::held() const {
    const auto found = std::find_if(running_.rbegin(), running_.rend(), [](const Sequence* one) {
        return (one->pace == Pace::hold || one->is_answered) && one->state == SequenceState::decode &&
               one->unread == 0;
    });
    return found == running_.rend() ? nullptr : *found;
}

/// Preempts held(). Returns false if there is none.
bool Scheduler::preempt_held() {
    Sequence* const one = held();
    if (one != nullptr)
        preempt(*one);
    return one != nullptr;
}

/// Admits waiting requests while rows are left, each with the first rows of its prompt; only those whose
/// client comes before that of prompts_[place], if it exists. They are inserted before it. Returns its new
/// index.
std::size_t Scheduler::admit_waiting(std::size_t place, Step& step, Updates& updates, Clock::time_point now) {
    while (!lacks_pages_ && batch_.rows.size() < prefill_end_) {
        Sequence* const next = next_waiting();
        if (next == nullptr)
            return place;
        Sequence& sequence = *next;
        if (place < prompts_.size() && !shares_.comes_before(sequence.client, prompts_[place]->client))
            return place;
        // Its last row could be its only one, and pages are only copied for rows of the same batch.
        if (step.size() == limits_.output_rows_max || (samples_on_device(sequence) && free_slots_.empty()))
            return place;
        if (running_.size() == running_max_ && !preempt_held())
            return place;
        if (sequence.unread > 0)
            return place; // it was preempted, and its last tokens have not arrived
        if (!take_pages(sequence)) {
            if (preempt_held())
                continue;
            lacks_pages_ = !running_.empty();
            if (lacks_pages_)
                return place;
            end(sequence, FinishReason::length, updates, now); // it needs more pages than exist
            continue;
        }
        waiting_.erase(sequence);
        start_running(sequence);
        prompts_.insert(prompts_.begin() + static_cast<std::ptrdiff_t>(place++), &sequence);
        sequence.state = SequenceState::prefill;
        if (!sequence.admitted) {
            sequence.admitted = now;
            sequence.cached_tokens = sequence.computed;
        }
        schedule_known(sequence, step);
    }
    return place;
}

/// Allocates pages for all known tokens, as many as possible from the cache; at least one row is left to
/// compute, and all that have to be scored. Some pages stay spare for decoding sequences, so that a new one
/// is not preempted at once.
bool Scheduler::take_pages(Sequence& sequence) {
    const uint32_t length = sequence.length();
    const auto spare = static_cast<uint32_t>(running_.size());
    const uint32_t most = sequence.scores(sequence.unscored) ? sequence.unscored : length - 1;
    // The second try leaves out the page that would be copied for a few rows only.
    for (const bool copies : {true, false}) {
        const uint32_t places_max = copies ? most : most / limits_.page_tokens * limits_.page_tokens;
        uint32_t cached = cache_.reuse(sequence.pages, sequence.content(), places_max);
        if (copies && cached < places_max)
            cached += cache_.reuse_beginning(sequence.pages, sequence.content(), cached, places_max);
        if (cache_.reserve(sequence.pages, cached, length, spare, batch_.copies)) {
            sequence.computed = cached;
            return true;
        }
        cache_.release(sequence.pages);
    }
    return false;
}

} // namespace etna::engine
