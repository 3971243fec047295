#pragma once

#include "core/base/result.hpp"
#include "core/engine/admission.hpp"
#include "core/engine/constraint_runner.hpp"
#include "core/engine/sequence.hpp"
#include "core/engine/state_cache.hpp"

#include <cstdint>
#include <map>

namespace etna::engine {

/// Owns the sequences, and is the only code that releases their resources: pages, capacity, a constraint's
/// job. Makes no decisions. Addresses of sequences are stable until they are retired. Not thread-safe.
class SequenceStore {
public:
    /// Borrows all of them.
    SequenceStore(Admission& admission, StateCache& cache, ConstraintRunner& constraints)
        : admission_(admission), cache_(cache), constraints_(constraints) {}

    /// Adds a waiting sequence. Precondition: its id is new.
    Sequence& add(Sequence sequence);

    /// Adds a second sequence with the same past; see Sequence::fork(). If capacity is used up, it waits
    /// without pages.
    Sequence& fork(const Sequence& parent, uint32_t branch);

    /// Moves a running sequence to the waiting ones. Its full pages stay in the cache while they are not
    /// needed.
    void preempt(Sequence& sequence);

    /// Preempts an idle sequence; see Admission::idle_sequence(). Returns false if there is none.
    bool preempt_idle();

    /// Releases everything that a sequence holds, and destroys it. `error`: the error that ended it; null:
    /// none. After an internal error its pages cannot be found again.
    void retire(Sequence& sequence, const Error* error);

    /// Retires all sequences of a request.
    void retire_all(RequestId request, const Error* error);

    /// Releases the pages that the next rows of running sequences do not attend to. Precondition: no batch is
    /// being built.
    void advance_windows();

    /// Publishes the pages of running sequences that the batch fills.
    void publish_running();

    /// Pauses a request, or resumes it; no effect on unknown ones.
    void set_backpressure(RequestId request, Backpressure backpressure);

    /// Returns a sequence; null: it does not exist.
    [[nodiscard]] Sequence* find(SequenceId id);
    [[nodiscard]] const Sequence* find(SequenceId id) const;
    /// Returns the oldest sequence of a request; null: the request does not exist.
    [[nodiscard]] Sequence* first_of(RequestId request);
    [[nodiscard]] const Sequence* first_of(RequestId request) const;

    /// Returns all sequences, oldest first.
    [[nodiscard]] std::map<SequenceId, Sequence>& all() { return sequences_; }
    [[nodiscard]] const std::map<SequenceId, Sequence>& all() const { return sequences_; }
    /// Number of preemptions since the start.
    [[nodiscard]] uint64_t preemptions() const { return preemptions_; }

    /// Checks every sequence, and the lists and pages of all. Slow. Errors: internal.
    [[nodiscard]] Status verify() const;

private:
    void release(Sequence& sequence);

    Admission& admission_;
    StateCache& cache_;
    ConstraintRunner& constraints_;
    std::map<SequenceId, Sequence> sequences_;
    uint64_t preemptions_ = 0;
};

} // namespace etna::engine
