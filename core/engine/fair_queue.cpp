#include "core/engine/fair_queue.hpp"

#include <algorithm>
#include <tuple>

namespace etna::engine {

void ClientTokenCounters::add_sequence(ClientId client) {
    const auto found = counters_.find(client);
    if (found != counters_.end()) {
        ++found->second.sequences;
        return;
    }
    const auto fewest =
        std::min_element(counters_.begin(), counters_.end(),
                         [](const auto& a, const auto& b) { return a.second.rows < b.second.rows; });
    const uint64_t rows = fewest == counters_.end() ? 0 : fewest->second.rows;
    counters_.emplace(client, Counter{.rows = rows, .sequences = 1});
}

void ClientTokenCounters::remove_sequence(ClientId client) {
    const auto found = counters_.find(client);
    if (--found->second.sequences == 0)
        counters_.erase(found);
}

void ClientTokenCounters::end_batch() {
    for (auto& [client, counter] : counters_) {
        counter.rows += counter.charged;
        counter.charged = 0;
    }
}

bool ClientTokenCounters::comes_before(ClientId a, ClientId b) const {
    const Counter& one = counters_.at(a);
    const Counter& other = counters_.at(b);
    return std::tie(one.rows, one.running, a) < std::tie(other.rows, other.running, b);
}

bool ClientTokenCounters::may_preempt(ClientId next, ClientId victim) const {
    const Counter& one = counters_.at(next);
    const Counter& other = counters_.at(victim);
    return one.running < other.running &&
           std::tuple(one.rows, one.running, next) < std::tuple(other.rows, other.running - 1, victim);
}

void WaitingQueue::insert(Sequence& sequence) {
    Queue& queue = queues_[sequence.request->client];
    queue.insert(std::upper_bound(queue.begin(), queue.end(), &sequence, has_precedence), &sequence);
    ++size_;
    prioritized_.add(sequence.request->priority, 1);
}

void WaitingQueue::erase(const Sequence& sequence) {
    const auto found = queues_.find(sequence.request->client);
    if (found == queues_.end())
        return;
    if (std::erase(found->second, &sequence) == 0)
        return;
    --size_;
    prioritized_.add(sequence.request->priority, -1);
    if (found->second.empty())
        queues_.erase(found);
}

bool WaitingQueue::contains(const Sequence& sequence) const {
    const auto found = queues_.find(sequence.request->client);
    return found != queues_.end() &&
           std::find(found->second.begin(), found->second.end(), &sequence) != found->second.end();
}

} // namespace etna::engine
