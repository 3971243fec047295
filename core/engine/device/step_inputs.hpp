#pragma once

#include "core/base/bytes.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/executor.hpp"
#include "core/model/rotary.hpp"
#include "core/model/step.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// Returns the maximum packed size in bytes of a batch within the limits; `rotary_dims`: of the cache group
/// that rotates most.
uint64_t step_input_bytes(const Limits& limits, uint32_t rotary_dims, std::size_t groups);

/// A row that has an output; for wait().
struct OutputRow {
    OutputKind output_kind = OutputKind::none;
    uint32_t row = 0; ///< in the batch
    uint32_t at = 0;  ///< in Activations::hidden for OutputKind::hidden, otherwise among the rows of the head
    uint32_t candidates = 0;
    std::optional<uint32_t> draft = std::nullopt; ///< index of its draft's result
};

/// Packs a batch into one contiguous byte range for the device: rows sorted (decode first, those of a
/// sequence together), page tables, sequences of recurrent layers, rotary angles and sampling parameters.
/// Reuses its memory from batch to batch. Belongs to one thread.
class StepInputs {
public:
    /// `rotaries` [groups] are borrowed.
    StepInputs(const Limits& limits, std::span<const model::Rotary> rotaries);

    /// Writes `batch` to the start of `out`, which has step_input_bytes(). Precondition: check(batch,
    /// limits).
    void pack(const Batch& batch, MutableByteView out);

    /// The last packed batch was submitted: its deferred rows are pending in the half that the next step of
    /// each sequence reads.
    void submitted();

    /// Returns the number of bytes that pack() wrote.
    [[nodiscard]] uint64_t bytes() const { return cursor_; }

    /// Returns the packed step, for packed bytes at `inputs` on the device, until the next call. Generation
    /// gives equal steps: only every 128 tokens, or when rows come or go, one differs from the step before.
    /// `results` is SampleResult [rows of the head], then [draft rows].
    [[nodiscard]] const model::Step& step(const vk::Range& inputs, const vk::Range& results);

    /// Returns the rows that have an output, in batch order.
    [[nodiscard]] const std::vector<OutputRow>& output_rows() const { return output_rows_; }

private:
    /// The location of a sequence's pages for the device: the first page if they are consecutive, otherwise
    /// the offset of its table.
    struct TableLocation {
        uint32_t first_page = 0;
        uint32_t table = 0;
    };
    struct Section {
        uint64_t offset = 0;
        uint64_t bytes = 0;

        [[nodiscard]] vk::Range in(const vk::Range& whole) const { return whole.part(offset, bytes); }
    };

    /// Allocates `count` elements at the cursor.
    template <class T>
    std::span<T> take(MutableByteView out, std::size_t count, Section& section);

    void sort_rows(const Batch& batch);
    void pack_sequences(const Batch& batch, MutableByteView out);
    void pack_group(const Batch& batch, std::size_t group, MutableByteView out);
    void pack_table(std::span<const PageId> pages, TableLocation& location);
    [[nodiscard]] kernels::AttendMax attend_max_of(const model::RowRange& range,
                                                   std::span<const kernels::RowInfo> infos) const;
    void pack_angles(const Batch& batch, std::size_t group, MutableByteView out);
    void pack_embeddings(const Batch& batch, MutableByteView out);
    void pack_outputs(const Batch& batch, MutableByteView out);
    void pack_drafts(const Batch& batch, MutableByteView out);

    std::span<const model::Rotary> rotaries_;
    uint64_t cursor_ = 0;
    uint32_t candidates_ = 1;
    std::vector<uint32_t> order_;                       ///< batch row of each packed row
    std::vector<uint32_t> packed_row_;                  ///< packed row of each batch row
    std::vector<uint32_t> lengths_;                     ///< positions that a sequence's rows attend to
    std::vector<kernels::SequenceInfo> sequence_infos_; ///< of sequences with rows
    std::vector<TableLocation> locations_;
    std::vector<uint32_t> table_words_;
    std::vector<OutputRow> output_rows_;
    uint32_t head_rows_ = 0;               ///< those of output_rows_ that run the LM head
    std::vector<CacheGroup> cache_groups_; ///< [groups]
    std::vector<Section> infos_;           ///< [groups]
    std::vector<Section> tables_;          ///< [groups]
    std::vector<Section> angles_;          ///< [groups]
    uint32_t context_tokens_ = 0;
    std::size_t table_words_max_ = 0; ///< of a group
    model::Step step_;
    std::vector<bool> pending_half_; ///< [state slots]: the half that holds the pending rows
    Section sequences_;
    bool has_embeddings_ = false;
    Section embeddings_;
    Section output_indices_;
    Section sample_infos_;
    std::vector<uint32_t> draft_rows_; ///< batch rows that request a draft
    uint32_t draft_candidates_ = 1;
    Section next_infos_;
    Section draft_indices_;
    Section draft_infos_;
};

} // namespace etna::engine
