#pragma once

#include "core/engine/admission.hpp"
#include "core/engine/batch_builder.hpp"
#include "core/engine/draft_planner.hpp"
#include "core/engine/finisher.hpp"
#include "core/engine/sequence_store.hpp"
#include "core/engine/state_cache.hpp"
#include "core/engine/updates.hpp"

#include <cstddef>
#include <cstdint>

namespace etna::engine {

/// Plans the rows of decoding sequences: one for each, oldest first, and more for drafts and for tokens that
/// a constraint forced.
///
/// If no page is available for a sequence, the youngest sequence of the client that was served most is
/// preempted. The last running sequence has used up the memory, and ends with FinishReason::length. Not
/// thread-safe.
class DecodePlanner {
public:
    /// Borrows all of them.
    DecodePlanner(Admission& admission, StateCache& cache, SequenceStore& store, BatchBuilder& builder,
                  DraftPlanner& drafts, Finisher& finisher)
        : admission_(admission), cache_(cache), store_(store), builder_(builder), drafts_(drafts),
          finisher_(finisher) {}

    /// Appends the rows of all decoding sequences that can continue. Precondition: the batch has no rows yet.
    void plan(Updates& updates, Clock::time_point now);

private:
    [[nodiscard]] bool can_generate(const Sequence& sequence) const;
    bool reserve_page(std::size_t index, Updates& updates, Clock::time_point now);
    uint32_t reserve_rows(Sequence& sequence);

    Admission& admission_;
    StateCache& cache_;
    SequenceStore& store_;
    BatchBuilder& builder_;
    DraftPlanner& drafts_;
    Finisher& finisher_;
};

} // namespace etna::engine
