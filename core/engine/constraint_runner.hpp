#pragma once

#include "core/base/result.hpp"
#include "core/engine/constraint_workers.hpp"
#include "core/engine/sequence.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace etna::engine {

/// Computes the results of sequences' constraints: short work inline, and slow work on the workers, while the
/// sequence is stalled.
class ConstraintRunner {
public:
    /// Sets the workers; borrowed. Without them all work runs inline.
    void use(ConstraintWorkers& workers) { workers_ = &workers; }

    /// Returns whether the constraint's getters of `part` can be called; if not, a job is computing their
    /// results. Errors: the job's; they persist.
    Result<bool> has_results(Sequence& sequence, Constraint::Part part);

    /// Adds a sequence to the stalled ones: it skips steps until its constraint has results.
    void stall(const Sequence& sequence);
    [[nodiscard]] bool has_stalled() const { return !stalled_.empty(); }
    /// Returns the stalled sequences, some of which may have ended, and forgets them.
    std::vector<SequenceId> take_stalled() { return std::exchange(stalled_, {}); }

    /// Returns the next token that the constraint forces, if there is one. Queries the constraint once after
    /// each sampled token.
    static std::optional<TokenId> next_forced(Sequence& sequence);

    /// Cancels the job of a sequence that ends, and destroys its constraint off the engine's thread.
    void dispose(Sequence& sequence);

private:
    bool prepare_now(Sequence& sequence, Constraint::Part part);

    ConstraintWorkers* workers_ = nullptr; ///< null: none
    std::vector<SequenceId> stalled_;      ///< see ConstraintState::is_stalled()
};

} // namespace etna::engine
