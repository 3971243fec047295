#pragma once

#include "core/engine/admission.hpp"
#include "core/engine/batch_builder.hpp"
#include "core/engine/draft_costs.hpp"
#include "core/engine/draft_request.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/sequence_store.hpp"
#include "core/engine/state_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::engine {

/// Speculative decoding of the running sequences: makes drafts or requests them, schedules a row for each
/// after the row that samples the first of them, and accepts those that match the sampled tokens. Not
/// thread-safe.
class DraftPlanner {
public:
    /// Borrows all of them.
    DraftPlanner(const Limits& limits, Admission& admission, StateCache& cache, SequenceStore& store,
                 BatchBuilder& builder)
        : limits_(limits), admission_(admission), cache_(cache), store_(store), builder_(builder) {}

    /// Drafts for the next batch without a model if possible, and returns the requests for drafts of a model;
    /// their contents are valid until a sequence changes.
    std::vector<DraftRequest> draft();

    /// Stores the draft model's results for the requests that draft() returned, in order.
    void set_drafts(std::span<const DraftRequest> requests, std::vector<ModelDrafts> drafts);

    /// Ends drafting by a model: no sequence requests or waits for such drafts afterwards.
    void drop_model();
    /// False after drop_model().
    [[nodiscard]] bool has_model() const { return has_model_; }

    /// Sets the cost of drafts, as measured.
    void set_costs(const DraftCosts& costs) { costs_ = costs; }

    /// Returns the number of rows of a batch that the running sequences do not need.
    [[nodiscard]] uint32_t rows_max() const;

    /// Whether a sequence is drafted for, so that its next token has to be read before the row that reads it:
    /// drafts are made from all tokens.
    [[nodiscard]] bool needs_all_tokens(const Sequence& sequence) const;

    /// Reserves pages for a sequence's drafts without preempting others; drafts that find no rows, slots or
    /// pages are dropped.
    void reserve(Sequence& sequence);

    /// Appends the rows of the drafts that reserve() left. Precondition: the sequence's own rows were
    /// appended last.
    void append_rows(Sequence& sequence);

    /// Returns whether a row's draft is the token that was sampled at its position; true without a draft. All
    /// drafts after the first mismatch are rejected, because their rows attend to a wrong token. Outputs are
    /// passed in the order of their rows.
    static bool accept(Sequence& sequence, const PendingOutput& pending);

    /// Stores the draft of the draft head that came with the output of an accepted row. A missing one counts
    /// as rejected.
    void take_draft(Sequence& sequence, const PendingOutput& pending, const RowOutput& output);

    /// After the last row of a sequence's drafts, discards the positions computed after the first mismatch.
    /// `last`: index of the output that was read last; no effect if it does not end a sequence's drafts.
    void resolve(const Step& step, std::size_t last);

private:
    [[nodiscard]] uint32_t pending_drafts_max() const;
    [[nodiscard]] uint32_t drafts_that_fit(const Sequence& sequence) const;

    const Limits& limits_;
    Admission& admission_;
    StateCache& cache_;
    SequenceStore& store_;
    BatchBuilder& builder_;
    DraftCosts costs_;
    bool has_model_ = true;
};

} // namespace etna::engine
