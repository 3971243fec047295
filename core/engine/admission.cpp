#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <utility>

// Admission and preemption: which sequences run, and which wait.
namespace etna::engine {
namespace {

/// The quantum: the minimum number of tokens that a sequence generates before another client may preempt it,
/// or a fraction of its length if that is more, because it may have to be recomputed from its start.
constexpr uint32_t quantum_tokens_min = 256;
constexpr uint32_t quantum_divisor = 4;

} // namespace

/// Returns the number of running sequences of the group. Hypotheses that wait for others of their search do
/// not count, because otherwise those others would never be admitted before other groups.
std::size_t Scheduler::running_in_group(RequestId request_group) const {
    return static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(), [&](const Sequence* one) {
        return one->request_group == request_group && !one->has_continuations;
    }));
}

/// Returns the next sequence of a queue to run: the oldest of the group with the fewest running ones. Null:
/// none can run.
Sequence* Scheduler::next_in(const WaitingQueue::Queue& queue) const {
    Sequence* next = nullptr;
    std::size_t fewest = 0;
    for (Sequence* one : queue) {
        if (one->backpressure == Backpressure::on || one->has_continuations ||
            one->constraint_state.is_stalled())
            continue;
        const std::size_t running = running_in_group(one->request_group);
        if (next == nullptr || running < fewest) {
            next = one;
            fewest = running;
        }
        if (fewest == 0)
            break;
    }
    return next;
}

/// Returns the next waiting sequence to run. Null: none can run.
Sequence* Scheduler::next_to_admit() const {
    Sequence* next = nullptr;
    for (const auto& [client, queue] : waiting_.queues()) {
        if (next != nullptr && token_counters_.comes_before(next->client, client))
            continue;
        if (Sequence* const one = next_in(queue); one != nullptr)
            next = one;
    }
    return next;
}

/// Preempts one sequence if the fair share of a waiting one requires it; it has no rows in this batch yet.
/// One per batch is enough.
void Scheduler::rebalance() {
    const bool has_capacity = running_.size() < running_max_;
    if ((has_capacity && !lacks_pages_) || idle_sequence() != nullptr)
        return;
    const Sequence* const next = next_to_admit();
    if (next == nullptr)
        return;
    Sequence* victim = victim_of_client(*next);
    if (victim == nullptr && !has_capacity)
        victim = victim_of_group(*next);
    if (victim != nullptr)
        preempt(*victim);
}

/// Returns the sequence of another client that `next` may preempt: the youngest of the client that was served
/// most, among clients that were served more than `next`'s and run two sequences more, or one more if the
/// sequence has used its quantum. Null: none.
Sequence* Scheduler::victim_of_client(const Sequence& next) const {
    Sequence* victim = nullptr;
    for (auto entry = running_.rbegin(); entry != running_.rend(); ++entry) {
        Sequence& one = **entry;
        if (one.client == next.client || !token_counters_.may_preempt(next.client, one.client))
            continue;
        const bool has_used_quantum = one.length() >= one.quantum_end;
        if (!has_used_quantum && !token_counters_.is_crowding(one.client, next.client))
            continue;
        if (victim == nullptr || token_counters_.comes_before(victim->client, one.client))
            victim = &one;
    }
    return victim;
}

/// Returns the sequence of the same client that `next` may preempt, if its group has none running: the
/// youngest of the group with the most, if that has several, so that a request with many answers does not
/// block the others until it ends. Null: none.
Sequence* Scheduler::victim_of_group(const Sequence& next) const {
    if (running_in_group(next.request_group) > 0)
        return nullptr;
    Sequence* youngest = nullptr;
    std::size_t largest = 1;
    for (auto one = running_.rbegin(); one != running_.rend(); ++one) {
        if ((*one)->client != next.client)
            continue;
        if (const std::size_t running = running_in_group((*one)->request_group); running > largest) {
            youngest = *one;
            largest = running;
        }
    }
    return youngest;
}

void Scheduler::start_running(Sequence& sequence) {
    insert_by_age(running_, sequence);
    token_counters_.add_running(sequence.client);
    sequence.quantum_end =
        sequence.length() + std::max(quantum_tokens_min, sequence.length() / quantum_divisor);
}

/// No effect if it is not running.
void Scheduler::stop_running(Sequence& sequence) {
    if (std::erase(running_, &sequence) > 0)
        token_counters_.remove_running(sequence.client);
}

/// Moves a sequence to the waiting queue, without pages and with nothing computed.
void Scheduler::enqueue(Sequence& sequence) {
    cache_.release(sequence.pages);
    sequence.computed_tokens = 0;
    sequence.state = SequenceState::waiting;
    waiting_.insert(sequence);
}

void Scheduler::preempt(Sequence& sequence) {
    stop_running(sequence);
    cache_.publish_all(sequence.pages, sequence.content(),
                       std::min(sequence.computed_tokens, sequence.length()));
    ++preemptions_;
    enqueue(sequence);
}

/// Returns the youngest decoding sequence that is under backpressure, or waits for others of its search;
/// null: none.
Sequence* Scheduler::idle_sequence() const {
    const auto found = std::find_if(running_.rbegin(), running_.rend(), [](const Sequence* one) {
        return (one->backpressure == Backpressure::on || one->has_continuations) &&
               one->state == SequenceState::decode && one->pending_samples == 0;
    });
    return found == running_.rend() ? nullptr : *found;
}

/// Preempts idle_sequence(). Returns false if there is none.
bool Scheduler::preempt_idle() {
    Sequence* const one = idle_sequence();
    if (one != nullptr)
        preempt(*one);
    return one != nullptr;
}

/// Admits waiting requests while rows are left, each with the first rows of its prompt; only those of clients
/// that come before that of prompts_[index], if it exists. They are inserted before it. Returns its new
/// index.
std::size_t Scheduler::admit_waiting(std::size_t index, Step& step, Updates& updates, Clock::time_point now) {
    while (!lacks_pages_ && batch_.rows.size() < prefill_end_) {
        Sequence* const next = next_to_admit();
        if (next == nullptr)
            return index;
        Sequence& sequence = *next;
        if (index < prompts_.size() &&
            !token_counters_.comes_before(sequence.client, prompts_[index]->client))
            return index;
        // Its last row may be its only one, and a copied page must be written by rows of the same batch.
        if (step.size() == limits_.output_rows_max || (samples_on_device(sequence) && free_slots_.empty()))
            return index;
        if (running_.size() == running_max_ && !preempt_idle())
            return index;
        if (sequence.pending_samples > 0)
            return index; // it was preempted, and its last tokens have not arrived
        if (!allocate_pages(sequence)) {
            if (preempt_idle())
                continue;
            lacks_pages_ = !running_.empty();
            if (lacks_pages_)
                return index;
            end(sequence, FinishReason::length, updates, now); // it needs more pages than exist
            continue;
        }
        waiting_.erase(sequence);
        start_running(sequence);
        prompts_.insert(prompts_.begin() + static_cast<std::ptrdiff_t>(index++), &sequence);
        sequence.state = SequenceState::prefill;
        if (!sequence.admitted) {
            sequence.admitted = now;
            sequence.cached_tokens = sequence.computed_tokens;
        }
        append_prefill(sequence, step);
    }
    return index;
}

/// Allocates pages for all known tokens, as many as possible from the cache; at least one row is left to
/// compute, and all that return a prompt token's log-probability. Some pages stay free for decoding
/// sequences, so that the admitted one is not preempted at once.
bool Scheduler::allocate_pages(Sequence& sequence) {
    const uint32_t length = sequence.length();
    const auto spare = static_cast<uint32_t>(running_.size());
    const uint32_t limit = sequence.needs_prompt_logprob(sequence.unscored) ? sequence.unscored : length - 1;
    // The second attempt excludes the page that would be copied for a few rows only.
    for (const bool copies : {true, false}) {
        const uint32_t positions_max = copies ? limit : limit / limits_.page_tokens * limits_.page_tokens;
        uint32_t cached = cache_.match_prefix(sequence.pages, sequence.content(), positions_max);
        if (copies && cached < positions_max)
            cached += cache_.match_partial_page(sequence.pages, sequence.content(), cached, positions_max);
        if (cache_.reserve(sequence.pages, cached, length, spare, batch_.copies)) {
            sequence.computed_tokens = cached;
            return true;
        }
        cache_.release(sequence.pages);
    }
    return false;
}

} // namespace etna::engine
