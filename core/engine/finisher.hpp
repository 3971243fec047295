#pragma once

#include "core/base/result.hpp"
#include "core/engine/beam_searches.hpp"
#include "core/engine/sequence_store.hpp"
#include "core/engine/updates.hpp"

namespace etna::engine {

/// Ends requests: emits the last event and retires the sequence, or all sequences of its beam search. Not
/// thread-safe.
class Finisher {
public:
    /// Borrows both.
    Finisher(SequenceStore& store, BeamSearches& beams) : store_(store), beams_(beams) {}

    /// Ends the request of a sequence. `finished` is its last event.
    void end(Sequence& sequence, Finished finished, Updates& updates);

    /// Ends the request of a sequence with a reason.
    void end(Sequence& sequence, FinishReason reason, Updates& updates, Clock::time_point now);

    /// Ends the request of a sequence with an error.
    void fail(Sequence& sequence, const Error& error, Updates& updates, Clock::time_point now);

private:
    SequenceStore& store_;
    BeamSearches& beams_;
};

} // namespace etna::engine
