#include "core/engine/admission.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

/// The quantum: the minimum number of tokens that a sequence generates before another client may preempt it,
/// or a fraction of its length if that is more, because it may have to be recomputed from its start.
constexpr uint32_t quantum_tokens_min = 256;
constexpr uint32_t quantum_divisor = 4;

} // namespace

void Admission::add(Sequence& sequence) {
    counters_.add_sequence(sequence.request->client);
    waiting_.insert(sequence);
}

void Admission::remove(const Sequence& sequence) {
    if (std::erase(running_, &sequence) > 0)
        counters_.remove_running(sequence.request->client);
    waiting_.erase(sequence);
    counters_.remove_sequence(sequence.request->client);
}

void Admission::start(Sequence& sequence) {
    waiting_.erase(sequence);
    running_.insert(std::upper_bound(running_.begin(), running_.end(), &sequence, is_older), &sequence);
    counters_.add_running(sequence.request->client);
    sequence.quantum_end =
        sequence.length() + std::max(quantum_tokens_min, sequence.length() / quantum_divisor);
}

void Admission::stop(Sequence& sequence) {
    std::erase(running_, &sequence);
    counters_.remove_running(sequence.request->client);
    waiting_.insert(sequence);
}

bool Admission::is_served_before(const Sequence& a, const Sequence& b) const {
    const ClientId client = a.request->client;
    const ClientId other = b.request->client;
    return client == other ? has_precedence(&a, &b) : counters_.comes_before(client, other);
}

/// Returns the number of running sequences of the group. Hypotheses that wait for others of their search do
/// not count, because otherwise those others would never be admitted before other groups.
std::size_t Admission::running_in_group(RequestId request_group) const {
    return static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(), [&](const Sequence* one) {
        return one->request_group == request_group && !one->has_continuations;
    }));
}

bool Admission::is_admitted_before(const Sequence& waiting, const Sequence& running) const {
    const Request& next = *waiting.request;
    const Request& other = *running.request;
    return next.client == other.client ? next.priority < other.priority
                                       : counters_.comes_before(next.client, other.client);
}

/// Returns the next sequence of a queue to run: among those of the first priority, the oldest of the group
/// with the fewest running ones. Null: none can run.
Sequence* Admission::next_in(const WaitingQueue::Queue& queue) const {
    Sequence* next = nullptr;
    std::size_t fewest = 0;
    for (Sequence* one : queue) {
        if (one->backpressure == Backpressure::on || one->has_continuations ||
            one->constraint_state.is_stalled())
            continue;
        if (next != nullptr && one->request->priority != next->request->priority)
            break;
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

Sequence* Admission::next() const {
    Sequence* next = nullptr;
    for (const auto& [client, queue] : waiting_.queues()) {
        if (next != nullptr && counters_.comes_before(next->request->client, client))
            continue;
        if (Sequence* const one = next_in(queue); one != nullptr)
            next = one;
    }
    return next;
}

Sequence* Admission::victim_for(const Sequence& next) const {
    if (Sequence* const victim = victim_of_client(next); victim != nullptr)
        return victim;
    if (Sequence* const victim = victim_of_priority(next); victim != nullptr)
        return victim;
    return has_capacity() ? nullptr : victim_of_group(next);
}

/// Returns the sequence of another client that `next` may preempt: the last by precedence of the client that
/// was served most, among clients that were served more than `next`'s and run two sequences more, or one more
/// if the sequence has used its quantum. Null: none.
Sequence* Admission::victim_of_client(const Sequence& next) const {
    const ClientId client = next.request->client;
    Sequence* victim = nullptr;
    for (Sequence* const running : running_) {
        Sequence& one = *running;
        const ClientId other = one.request->client;
        if (other == client || !counters_.may_preempt(client, other))
            continue;
        const bool has_used_quantum = one.length() >= one.quantum_end;
        if (!has_used_quantum && !counters_.is_crowding(other, client))
            continue;
        if (victim == nullptr || is_served_before(*victim, one))
            victim = &one;
    }
    return victim;
}

/// Returns the last sequence by precedence of the same client, if `next` has a smaller priority number. Null:
/// none. The victim never preempts `next` in return.
Sequence* Admission::victim_of_priority(const Sequence& next) const {
    Sequence* victim = nullptr;
    for (Sequence* const one : running_) {
        if (one->request->client == next.request->client && one->request->priority > next.request->priority &&
            (victim == nullptr || has_precedence(victim, one)))
            victim = one;
    }
    return victim;
}

/// Returns the sequence of the same client that `next` may preempt, if its group has none running: the
/// youngest of the group with the most, if that has several, so that a request with many answers does not
/// block the others until it ends. Null: none.
Sequence* Admission::victim_of_group(const Sequence& next) const {
    if (running_in_group(next.request_group) > 0)
        return nullptr;
    Sequence* youngest = nullptr;
    std::size_t largest = 1;
    for (auto one = running_.rbegin(); one != running_.rend(); ++one) {
        if ((*one)->request->client != next.request->client ||
            (*one)->request->priority < next.request->priority)
            continue;
        if (const std::size_t running = running_in_group((*one)->request_group); running > largest) {
            youngest = *one;
            largest = running;
        }
    }
    return youngest;
}

Sequence& Admission::last_served(std::size_t first) const {
    return **std::max_element(
        running_.begin() + static_cast<std::ptrdiff_t>(first), running_.end(),
        [this](const Sequence* a, const Sequence* b) { return is_served_before(*a, *b); });
}

Sequence* Admission::idle_sequence() const {
    const auto found = std::find_if(running_.rbegin(), running_.rend(), [](const Sequence* one) {
        return (one->backpressure == Backpressure::on || one->has_continuations) &&
               one->state == SequenceState::decode && one->pending_samples == 0;
    });
    return found == running_.rend() ? nullptr : *found;
}

} // namespace etna::engine
