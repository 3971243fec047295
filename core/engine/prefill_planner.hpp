#pragma once

#include "core/engine/admission.hpp"
#include "core/engine/batch_builder.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/finisher.hpp"
#include "core/engine/sequence_store.hpp"
#include "core/engine/state_cache.hpp"
#include "core/engine/updates.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace etna::engine {

/// Plans the rows of prompts, in chunks, and admits waiting requests.
///
/// The client that was served the fewest rows comes first; a waiting request is admitted before the running
/// prompts of a later client take the rest of the batch, while pages for its known tokens are available. A
/// prompt that does not end in this batch leaves up to half of the rows to those after it. Not thread-safe.
class PrefillPlanner {
public:
    /// Borrows all of them.
    PrefillPlanner(const Limits& limits, Admission& admission, StateCache& cache, SequenceStore& store,
                   BatchBuilder& builder, Finisher& finisher)
        : limits_(limits), admission_(admission), cache_(cache), store_(store), builder_(builder),
          finisher_(finisher), rows_max_(limits.batch_rows_max) {}

    /// Sets the maximum number of prefill rows in a batch; initially the maximum number of rows.
    void set_rows_max(uint32_t rows) { rows_max_ = rows; }

    /// Preempts one sequence if capacity or pages were short in the previous batch, and the fair share of a
    /// waiting sequence requires it; see Admission::victim_for(). One per batch is enough. Precondition: the
    /// batch has no rows yet.
    void rebalance();

    /// Appends the rows of running prompts, and of waiting sequences that are admitted. A waiting sequence
    /// that needs more pages than exist ends with FinishReason::length.
    void plan(Updates& updates, Clock::time_point now);

    /// Whether the last batch lacked rows for a segment that has to be computed in one step.
    [[nodiscard]] bool lacks_rows() const { return lacks_rows_; }

private:
    enum class Allocation : uint8_t { done, no_pages, no_rows };

    std::size_t admit_waiting(std::size_t index, Updates& updates, Clock::time_point now);
    void continue_prompt(std::size_t index);
    Allocation allocate_pages(Sequence& sequence);
    void append_rows(Sequence& sequence, uint32_t count);
    [[nodiscard]] uint32_t rows_left() const { return rows_end_ - std::min(rows_end_, builder_.row_count()); }
    uint32_t rows_for(const Sequence& sequence);
    [[nodiscard]] uint32_t end_of_rows(const Sequence& sequence, uint32_t end) const;
    [[nodiscard]] uint32_t next_snapshot(const Sequence& sequence, uint32_t begin) const;
    [[nodiscard]] uint32_t rows_after(const Sequence& sequence) const;

    const Limits& limits_;
    Admission& admission_;
    StateCache& cache_;
    SequenceStore& store_;
    BatchBuilder& builder_;
    Finisher& finisher_;
    uint32_t rows_max_;              ///< per batch
    uint32_t rows_begin_ = 0;        ///< row count at which prefill of the batch being built begins
    uint32_t rows_end_ = 0;          ///< row count up to which prefill may fill the batch being built
    std::vector<Sequence*> prompts_; ///< running, in prefill; in the order of the batch being built
    bool lacks_rows_ = false;
    bool lacks_pages_ = false; ///< the next sequence to admit found no pages
};

} // namespace etna::engine
