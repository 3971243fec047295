#pragma once

#include "core/engine/fair_queue.hpp"
#include "core/engine/sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etna::engine {

/// Decides which sequences run, which one is admitted next, and which one is preempted for it: fair among
/// clients, and among the request groups of a client. Borrows the sequences, and knows neither their pages
/// nor batches.
class Admission {
public:
    /// `running_max`: maximum number of running sequences.
    explicit Admission(uint32_t running_max) : running_max_(running_max) {}

    /// Adds a waiting sequence.
    void add(Sequence& sequence);
    /// Removes a sequence.
    void remove(const Sequence& sequence);
    /// Moves a waiting sequence to the running ones. Precondition: has_capacity().
    void start(Sequence& sequence);
    /// Moves a running sequence to the waiting ones.
    void stop(Sequence& sequence);

    /// Returns the running sequences, oldest first.
    [[nodiscard]] const std::vector<Sequence*>& running() const { return running_; }
    [[nodiscard]] const WaitingQueue& waiting() const { return waiting_; }
    /// Returns the number of sequences that can be started.
    [[nodiscard]] std::size_t capacity() const { return running_max_ - running_.size(); }
    [[nodiscard]] bool has_capacity() const { return capacity() > 0; }

    /// Charges a client for `rows` rows of the batch being built; see ClientTokenCounters.
    void charge(ClientId client, uint32_t rows) { counters_.charge(client, rows); }
    void end_batch() { counters_.end_batch(); }

    /// Whether `a` is served before `b`: by client, then by priority, then by age.
    [[nodiscard]] bool is_served_before(const Sequence& a, const Sequence& b) const;
    /// Whether a waiting sequence is admitted before the running prompt of another client, or of the same
    /// one.
    [[nodiscard]] bool is_admitted_before(const Sequence& waiting, const Sequence& running) const;

    /// Returns the next waiting sequence to run. Null: none can run.
    [[nodiscard]] Sequence* next() const;

    /// Returns the running sequence that is preempted for the waiting sequence `next`: one of another client,
    /// for a fair share, else one of the same client with a larger priority number or, without capacity, of
    /// another group. Null: none.
    [[nodiscard]] Sequence* victim_for(const Sequence& next) const;

    /// Returns the sequence that is served last, among running() from index `first` on.
    [[nodiscard]] Sequence& last_served(std::size_t first) const;

    /// Returns the youngest decoding sequence that is under backpressure, or waits for others of its search;
    /// null: none.
    [[nodiscard]] Sequence* idle_sequence() const;

private:
    [[nodiscard]] std::size_t running_in_group(RequestId request_group) const;
    [[nodiscard]] Sequence* next_in(const WaitingQueue::Queue& queue) const;
    [[nodiscard]] Sequence* victim_of_client(const Sequence& next) const;
    [[nodiscard]] Sequence* victim_of_priority(const Sequence& next) const;
    [[nodiscard]] Sequence* victim_of_group(const Sequence& next) const;

    uint32_t running_max_;
    std::vector<Sequence*> running_; ///< prefill and decode, oldest first
    WaitingQueue waiting_;
    ClientTokenCounters counters_;
};

} // namespace etna::engine
