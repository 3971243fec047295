#pragma once

#include "core/base/result.hpp"
#include "core/engine/beam_search.hpp"
#include "core/engine/constraint_runner.hpp"
#include "core/engine/sequence_store.hpp"
#include "core/engine/updates.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace etna::engine {

/// The beam searches in progress. The hypotheses of one search are sequences that advance in lockstep: each
/// waits with its continuations until those of all are known, and then forks, continues or ends. Not
/// thread-safe.
class BeamSearches {
public:
    /// Borrows both.
    BeamSearches(SequenceStore& store, ConstraintRunner& constraints)
        : store_(store), constraints_(constraints) {}

    /// Begins the search of a request, whose only sequence is `first`. Precondition: check(beams).
    void begin(const BeamOptions& beams, Sequence& first);

    /// Returns the number of streams of a request: 1 if it is not a beam search.
    [[nodiscard]] uint32_t answers_of(RequestId request) const;

    /// Stores the continuations of a hypothesis, and advances the search by one token once those of all
    /// hypotheses are known. The sequence may have ended afterwards.
    void take(Sequence& sequence, Continuations continuations, Updates& updates, Clock::time_point now);

    /// Continues with the live hypotheses of a request, unless a constraint is still computing: then they are
    /// stalled. An error of a constraint ends the search with it. Precondition: the request is a beam search.
    void resume(RequestId request, Updates& updates, Clock::time_point now);

    /// Emits the answers of a search that is over, or is ended with `finished`, and retires its sequences. A
    /// search that is ended early returns the best answers so far; an error returns none.
    void end(RequestId request, Finished finished, Updates& updates);

private:
    /// A beam search and its sequences.
    struct Group {
        BeamSearch search;
        uint32_t answers = 1;
        std::vector<Sequence*> live;              ///< by hypothesis number; null: complete
        std::vector<Continuations> continuations; ///< by hypothesis number; see Sequence::has_continuations
        uint32_t next_branch = 1;
    };

    void branch(Group& group, std::span<const BeamSearch::Branch> branches);
    Result<bool> find_ends(Group& group);
    void finish_step(Group& group, RequestId request, Finished finished, Updates& updates);

    SequenceStore& store_;
    ConstraintRunner& constraints_;
    std::map<RequestId, Group> groups_;
};

} // namespace etna::engine
