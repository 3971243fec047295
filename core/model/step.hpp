#pragma once

#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/kernels/rows.hpp"
#include "core/kernels/sequences.hpp"
#include "core/model/arena.hpp"
#include "core/model/layer_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::model {

constexpr std::size_t row_ranges_max = 2;

/// Consecutive rows of a step that take one numeric path. A step has at most row_ranges_max: decode first,
/// then prefill.
struct RowRange {
    kernels::RowPath path = kernels::RowPath::decode;
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t sequences = 0; ///< that the rows belong to; 0: unknown

    bool operator==(const RowRange&) const = default;
};

/// Inputs of a step for the layers of one cache group.
struct GroupInputs {
    vk::Range infos; ///< kernels::RowInfo [rows]; `input` is the same in every group
    kernels::PageTables tables;
    vk::Range angles; ///< f32 (cos, sin) pairs, [rows][rotary dims / 2]
    std::array<kernels::AttendMax, row_ranges_max> attend_max; ///< [row ranges]

    bool operator==(const GroupInputs&) const = default;
};

/// One forward pass: its rows and the device ranges of their inputs from the host, which are borrowed. The
/// commands that a model records are a function of this value: what differs between equal steps lies in the
/// ranges.
struct Step {
    std::vector<RowRange> row_ranges; ///< together [0, rows)
    uint32_t rows = 0;
    std::vector<GroupInputs> groups;
    kernels::Sequences sequences; ///< those with rows, for recurrent layers; empty without such layers
    vk::Range embeddings; ///< f32 [count, width], read by rows whose input is an embedding; may be empty

    bool returns_hidden = false; ///< Activations::hidden gets the last norm of every row
    uint32_t output_rows = 0;    ///< rows that go through the head; 0: none
    vk::Range output_indices;    ///< u32 [output_rows], rows of the step
    vk::Range sample_infos;      ///< kernels::SampleInfo [output_rows]
    vk::Range sample_results;    ///< kernels::SampleResult [output_rows], written
    uint32_t candidates = 1;     ///< largest number that an output row needs

    // For record_drafts() only:
    vk::Range next_infos;          ///< kernels::RowInfo [rows]: `input` is each row's next token
    uint32_t draft_rows = 0;       ///< output rows that the draft head drafts for; 0: none
    vk::Range draft_indices;       ///< u32 [draft_rows], rows of the step
    vk::Range draft_infos;         ///< kernels::SampleInfo [draft_rows]
    vk::Range draft_results;       ///< kernels::SampleResult [draft_rows], written
    uint32_t draft_candidates = 1; ///< largest number that a draft row needs

    bool operator==(const Step&) const = default;
};

/// Device memory of what blocks hand to each other in a step, and of its outputs; f32 activations, rows
/// padded with zeros. Everything else that a step needs comes from its arena.
struct Activations {
    kernels::Activations residual;      ///< [rows, width]: the stream that blocks add to
    kernels::Activations hidden;        ///< [rows, width]: normalised input of a block
    kernels::Activations output_hidden; ///< [output_rows, width]: output rows after the last norm
    kernels::Activations logits;        ///< [output_rows, vocabulary]
    vk::Range squares;    ///< f32 [rows][width / tile_columns]: of the residual, kernels::PendingNorm
    vk::Range slots;      ///< u32 [slots]: sampled ids; they outlive the step
    vk::Range nan_probes; ///< u32 [batch_rows_max]: kernels::NanProbe

    // With inputs of each layer only:
    kernels::Activations per_layer_inputs; ///< [rows, layers x their width]

    // With streams only:
    kernels::Activations streams;    ///< [(streams - 1) x rows, width]: all streams but the residual
    kernels::Activations prediction; ///< [rows, width]: kernels::AltUp
};

/// Everything that recording a step needs except the model; all borrowed.
struct Recording {
    kernels::Launcher launcher;
    Arena& arena;
    const Activations& activations;
    std::span<const LayerState> states; ///< [layers], that of a draft head last
    const Step& step;

    /// Rows of the step from its arena.
    [[nodiscard]] kernels::Activations rows(uint32_t columns) const { return arena.rows(step.rows, columns); }
    /// The same for rows that matrices read.
    [[nodiscard]] kernels::Activations matrix_input(uint32_t columns) const {
        return matrix_input(step.rows, columns);
    }
    [[nodiscard]] kernels::Activations matrix_input(uint32_t count, uint32_t columns) const {
        return arena.rows(count, columns, kernels::read_forms(launcher.target(), columns));
    }
};

/// Returns rows [first, first + count) of a step as the kernels take them.
inline kernels::Rows rows_of(const GroupInputs& inputs, uint32_t first, uint32_t count) {
    return {.infos = inputs.infos.part(uint64_t{first} * sizeof(kernels::RowInfo),
                                       uint64_t{count} * sizeof(kernels::RowInfo)),
            .first = first,
            .count = count};
}

} // namespace etna::model
