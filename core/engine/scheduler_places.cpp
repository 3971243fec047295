#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <utility>

// Who has a place in the steps, and who waits for one.
namespace etna::engine {

/// How many places the caller's sequences use. Hypotheses that wait for others of their search only keep
/// theirs warm: did they count, these others would never come before strangers.
std::size_t Scheduler::places_of(RequestId caller) const {
    return static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(), [&](const Sequence* one) {
        return one->caller == caller && !one->is_answered;
    }));
}

/// The next to have a place: of the caller that has the fewest, and the oldest. Null: nobody can use one.
Sequence* Scheduler::next_waiting() const {
    Sequence* next = nullptr;
    std::size_t fewest = 0;
    for (Sequence* one : waiting_) {
        if (one->pace == Pace::hold || one->is_answered)
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

/// Where a caller waits that has no place, the youngest sequence of the one that has the most gives its place
/// back, if it is not the only one: lest a request of many answers keeps all others waiting to its end. It
/// has no rows in this batch yet.
void Scheduler::share_places() {
    if (running_.size() < running_max_ || held() != nullptr)
        return;
    const Sequence* const next = next_waiting();
    if (next == nullptr || places_of(next->caller) > 0)
        return;
    Sequence* youngest = nullptr;
    std::size_t most = 1;
    for (auto one = running_.rbegin(); one != running_.rend(); ++one) {
        if (const std::size_t places = places_of((*one)->caller); places > most) {
            youngest = *one;
            most = places;
        }
    }
    if (youngest != nullptr)
        preempt(*youngest);
}

void Scheduler::preempt(Sequence& sequence) {
    running_.erase(std::find(running_.begin(), running_.end(), &sequence));
    cache_.publish_all(sequence.pages, sequence.content(), std::min(sequence.computed, sequence.length()));
    cache_.release(sequence.pages);
    sequence.computed = 0;
    sequence.state = SequenceState::waiting;
    ++preemptions_;
    insert_by_age(waiting_, sequence);
}

/// The youngest sequence that is held, or waits for others; null: none.
Sequence* Scheduler::held() const {
    const auto found = std::find_if(running_.rbegin(), running_.rend(), [](const Sequence* one) {
        return (one->pace == Pace::hold || one->is_answered) && one->state == SequenceState::decode &&
               one->unread == 0;
    });
    return found == running_.rend() ? nullptr : *found;
}

/// Takes the place and the pages of held(). False where there is none to take.
bool Scheduler::preempt_held() {
    Sequence* const one = held();
    if (one != nullptr)
        preempt(*one);
    return one != nullptr;
}

void Scheduler::admit_waiting(Step& step, Updates& updates, Clock::time_point now) {
    while (batch_.rows.size() < limits_.rows_max) {
        Sequence* const next = next_waiting();
        if (next == nullptr)
            return;
        Sequence& sequence = *next;
        // Its last row could be the only one, and pages are copied for rows of the same batch alone.
        if (step.size() == limits_.wanted_max || (samples_on_device(sequence) && free_slots_.empty()))
            return;
        if (running_.size() == running_max_ && !preempt_held())
            return;
        if (sequence.unread > 0)
            return; // it was preempted; its last tokens are still to come
        if (!take_pages(sequence)) {
            if (preempt_held())
                continue;
            if (!running_.empty())
                return;
            end(sequence, FinishReason::length, updates, now); // it outgrew the memory
            continue;
        }
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &sequence));
        insert_by_age(running_, sequence);
        sequence.state = SequenceState::prefill;
        if (!sequence.admitted) {
            sequence.admitted = now;
            sequence.cached_tokens = sequence.computed;
        }
        schedule_known(sequence, step);
    }
}

/// Pages for all known tokens, as many of them as possible from the cache; one row at least is left to
/// compute, and all that have to be scored. Some pages stay spare for those who generate, lest a newcomer is
/// sent back at once.
bool Scheduler::take_pages(Sequence& sequence) {
    const uint32_t length = sequence.length();
    const auto spare = static_cast<uint32_t>(running_.size());
    const uint32_t most = sequence.scores(sequence.unscored) ? sequence.unscored : length - 1;
    // The second try does without the page that would be copied only for the sake of a few rows.
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
