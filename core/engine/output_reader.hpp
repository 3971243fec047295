#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch_builder.hpp"
#include "core/engine/beam_searches.hpp"
#include "core/engine/constraint_runner.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/finisher.hpp"
#include "core/engine/sequence_store.hpp"
#include "core/engine/updates.hpp"
#include "core/sampling/sampler.hpp"

namespace etna::engine {

/// Turns outputs of rows into tokens of their sequences: draws the token if the device did not, appends and
/// emits it, and ends the sequence if nothing may follow. While its constraint is computing the allowed
/// tokens, a sequence retains its output and skips steps. Not thread-safe.
class OutputReader {
public:
    /// Borrows all of them.
    OutputReader(const Limits& limits, SequenceStore& store, BeamSearches& beams,
                 ConstraintRunner& constraints, Finisher& finisher)
        : limits_(limits), store_(store), beams_(beams), constraints_(constraints), finisher_(finisher) {}

    /// Reads the output of a sequence's row. The sequence may have ended afterwards, but not if an error is
    /// returned. Errors: those of the row, of read_token() and of constraints.
    Status read(Sequence& sequence, const PendingOutput& pending, const RowOutput& output, Updates& updates,
                Clock::time_point now);

    /// Resumes the sequences whose constraint has finished its work; those whose constraint failed end.
    void resume_stalled(Updates& updates, Clock::time_point now);

    /// Lets the constraints of a step compute the allowed tokens while the device runs it.
    void prepare_constraints(const Step& step);

private:
    void take_hidden(Sequence& sequence, const PendingOutput& pending, const RowOutput& output,
                     Updates& updates, Clock::time_point now);
    Status accept(Sequence& sequence, TokenEvent token, Updates& updates, Clock::time_point now);
    Status finish_or_force(Sequence& sequence, Updates& updates, Clock::time_point now);
    void park(Sequence& sequence, const PendingOutput& pending, const RowOutput& output);
    Status resume(Sequence& sequence, Updates& updates, Clock::time_point now);

    const Limits& limits_;
    SequenceStore& store_;
    BeamSearches& beams_;
    ConstraintRunner& constraints_;
    Finisher& finisher_;
    sampling::Sampler sampler_; ///< for tokens that the device does not draw
};

} // namespace etna::engine
