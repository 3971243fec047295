#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// The description of a requested output, matched with the output when it arrives.
struct PendingOutput {
    SequenceId sequence;
    uint32_t position = 0;
    std::optional<uint32_t> slot = {};
    std::optional<TokenId> draft = {}; ///< the draft that the row reads; empty if its token was known
    bool requests_draft = false;       ///< of the draft head
};
/// The requested outputs of one batch, in the order of its rows.
using Step = std::vector<PendingOutput>;

/// Builds batches row by row: inputs and outputs of rows, slots for sampled tokens, and the outputs of the
/// batches in flight. Decides nothing, and reserves no pages. Not thread-safe.
class BatchBuilder {
public:
    /// `limits`: borrowed.
    explicit BatchBuilder(const Limits& limits);

    /// Starts an empty batch. `spare_rows`: see spare_rows().
    void begin(uint32_t spare_rows);

    /// Appends the next `count` rows of a sequence, with the outputs that they need: the last known token's
    /// row requests a sample, and rows of the prompt their log-probabilities if requested. Preconditions:
    /// their pages are reserved, the tokens are known or sampled, and has_output_for() if the last of them
    /// needs one; the sequence has no rows in this batch yet.
    void append_rows(Sequence& sequence, uint32_t count);

    /// Appends rows that read drafts, each with a sample that verifies the next draft. Preconditions: as
    /// append_rows(); the sequence's own rows were appended last.
    void append_drafts(Sequence& sequence, std::span<const TokenId> drafts);

    /// Ends the batch; its outputs are in flight from now on, unless it has no rows. Valid until begin().
    const Batch& finish();

    /// Removes the oldest step in flight, whose batch returned `output_count` outputs, and frees its slots:
    /// rows that read them have been submitted. Errors: internal (no step is in flight, or one with another
    /// number of outputs).
    Result<Step> take_step(std::size_t output_count);

    /// Returns the newest step in flight; null: none.
    [[nodiscard]] const Step* newest_step() const { return steps_.empty() ? nullptr : &steps_.back(); }

    /// Whether the batch has room for the output of a sequence's newest token.
    [[nodiscard]] bool has_output_for(const Sequence& sequence) const;

    [[nodiscard]] uint32_t row_count() const { return static_cast<uint32_t>(batch_.rows.size()); }
    /// Number of rows of the batch that can still run the LM head.
    [[nodiscard]] uint32_t outputs_left() const { return limits_.output_rows_max - head_rows_; }
    /// Number of rows with an embedding that the batch can still hold.
    [[nodiscard]] uint32_t embeddings_left() const {
        return limits_.embeddings_max - static_cast<uint32_t>(batch_.embeddings.size());
    }
    [[nodiscard]] std::size_t free_slots() const { return free_slots_.size(); }
    /// Rows that decoding sequences may use beyond one each.
    [[nodiscard]] uint32_t spare_rows() const { return spare_rows_; }
    /// Precondition: count <= spare_rows().
    void take_spare_rows(uint32_t count) { spare_rows_ -= count; }
    /// Returns the copies of pages and of recurrent state in the batch, to be appended to.
    [[nodiscard]] std::vector<PageCopy>& copies() { return batch_.copies; }
    [[nodiscard]] std::vector<StateCopy>& state_copies() { return batch_.state_copies; }

    /// Checks that every slot is free, or belongs to one output in flight. Errors: internal.
    [[nodiscard]] Status verify() const;

private:
    void append_view(const Sequence& sequence);
    Row& append_row(Sequence& sequence, std::optional<TokenId> draft);
    std::optional<uint32_t> request_sample(const Sequence& sequence, Row& row, std::optional<TokenId> draft);
    void request_prompt_output(Sequence& sequence, Row& row);

    const Limits& limits_;
    Batch batch_;
    Step step_;              ///< of the batch being built
    std::deque<Step> steps_; ///< in flight, oldest first
    std::vector<uint32_t> free_slots_;
    uint32_t head_rows_ = 0; ///< of the batch, that run the LM head
    uint32_t spare_rows_ = 0;
    uint32_t sequence_begin_ = 0; ///< position of the first row of the last sequence
};

} // namespace etna::engine
