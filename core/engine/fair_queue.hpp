#pragma once

#include "core/engine/sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

namespace etna::engine {

/// Counts the batch rows that each client was served. The client with the lowest count is served first. A
/// client that was idle restarts at the lowest count among the others, so idle time earns no credit.
///
/// Source: Sheng et al., Fairness in Serving Large Language Models (OSDI 2024), virtual token counters.
class ClientTokenCounters {
public:
    /// Adds, or removes, a sequence of the client.
    void add_sequence(ClientId client);
    void remove_sequence(ClientId client);

    /// One of the client's sequences starts, or stops, running. Precondition: the client has a sequence.
    void add_running(ClientId client) { ++counters_.at(client).running; }
    void remove_running(ClientId client) { --counters_.at(client).running; }
    [[nodiscard]] uint32_t running(ClientId client) const { return counters_.at(client).running; }

    /// Charges the client for `rows` rows of the batch being built.
    void charge(ClientId client, uint32_t rows) { counters_.at(client).charged += rows; }
    /// Adds the charges to the counts. They do not count before, so that the order is stable within a batch.
    void end_batch();

    /// Whether `a` is served before `b`: it was served fewer rows, or as many and has fewer running
    /// sequences.
    [[nodiscard]] bool comes_before(ClientId a, ClientId b) const;

    /// Whether `next` has fewer running sequences than `victim`, and is served before it even if `victim`
    /// runs one less; otherwise `victim` would preempt `next` in return.
    [[nodiscard]] bool may_preempt(ClientId next, ClientId victim) const;

    /// Whether `client` runs at least two sequences more than `next`.
    [[nodiscard]] bool is_crowding(ClientId client, ClientId next) const {
        return running(client) > running(next) + 1;
    }

private:
    struct Counter {
        uint64_t rows = 0;
        uint32_t charged = 0; ///< rows of the batch being built
        uint32_t running = 0;
        uint32_t sequences = 0;
    };

    std::map<ClientId, Counter> counters_; ///< of clients with sequences
};

/// The waiting sequences: a queue for each client, by priority, then by age. Borrows them.
class WaitingQueue {
public:
    using Queue = std::deque<Sequence*>;

    void insert(Sequence& sequence);
    /// No effect if the sequence is not waiting.
    void erase(const Sequence& sequence);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool contains(const Sequence& sequence) const;
    /// Returns the number of sequences that come before those without a priority, and of those that come
    /// after them.
    [[nodiscard]] const PriorityCounts& prioritized() const { return prioritized_; }
    /// Returns the queues by client; none is empty.
    [[nodiscard]] const std::map<ClientId, Queue>& queues() const { return queues_; }

private:
    std::map<ClientId, Queue> queues_;
    std::size_t size_ = 0;
    PriorityCounts prioritized_;
};

} // namespace etna::engine
