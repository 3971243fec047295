#pragma once

#include "core/kernels/attention.hpp"
#include "core/kernels/rms_norm.hpp"
#include "core/kernels/rows.hpp"
#include "core/kernels/sample.hpp"
#include "core/kernels/sequences.hpp"
#include "core/model/layer_state.hpp"
#include "core/vk/recorder.hpp"

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

/// Device scratch memory of a step; f32 activations, rows padded with zeros.
struct Activations {
    kernels::Activations residual;         ///< [rows, width]: the stream that blocks add to
    kernels::Activations hidden;           ///< [rows, width]: normalised input of a block
    kernels::Activations q;                ///< [rows, q_width]
    kernels::Activations k;                ///< [rows, kv_width]
    kernels::Activations v;                ///< [rows, kv_width]
    kernels::Activations attention_output; ///< [rows, output_width]
    kernels::Activations output_hidden;    ///< [output_rows, width]: output rows after the last norm
    kernels::Activations logits;           ///< [output_rows, vocabulary]
    vk::Range attention_partials;          ///< limits the decode rows per attention pass
    vk::Range attention_counters;          ///< zero between dispatches
    vk::Range squares;        ///< f32 [rows][width / tile_columns]: of the residual, kernels::PendingNorm
    vk::Range fused_counters; ///< kernels::FusedLinear; zero between dispatches
    vk::Range sample_partials;
    vk::Range slots;      ///< u32 [slots]: sampled ids
    vk::Range nan_probes; ///< u32 [batch_rows_max]: kernels::NanProbe

    // With a draft head only:
    kernels::Activations draft_input; ///< [rows, 2 width]: of DraftHead::projection

    // With dense blocks only:
    kernels::Activations gate; ///< [rows, feed_forward]
    kernels::Activations up;   ///< [rows, feed_forward]

    // With an output gate of attention only:
    kernels::Activations attention_gate; ///< [rows, q_width]

    // With latent attention only:
    kernels::Activations latent_query_input; ///< [rows, query_rank], if queries pass through it
    kernels::Activations latent_queries;     ///< [rows, latent_query_width]: before their projection
    kernels::Activations latent_output;      ///< [rows, latent_output_width]

    // With inputs of each layer only:
    kernels::Activations per_layer_inputs;     ///< [rows, layers x their width]
    kernels::Activations per_layer_projection; ///< same shape, before its norm
    kernels::Activations per_layer_gate;       ///< [rows, their width]

    // With streams only:
    kernels::Activations streams;    ///< [(streams - 1) x rows, width]: all streams but the residual
    kernels::Activations prediction; ///< [rows, width]: kernels::AltUp
    kernels::Activations laurel;     ///< [rows, Config::laurel_rank]

    // With gated delta nets only:
    kernels::Activations delta_input;  ///< [rows, qkv_columns]: before the convolution
    kernels::Activations delta_qkv;    ///< [rows, qkv_columns]
    kernels::Activations delta_gate;   ///< [rows, output_columns]: of the output
    kernels::Activations delta_alpha;  ///< [rows, value heads]
    kernels::Activations delta_beta;   ///< [rows, value heads]
    kernels::Activations delta_output; ///< [rows, output_columns]

    // With short convolutions only:
    kernels::Activations convolution_input;  ///< [rows, 3 channels]: b | c | x
    kernels::Activations convolution_output; ///< [rows, channels]

    // With Mamba 2 only:
    kernels::Activations mamba_input;  ///< [rows, xbc_columns]: before the convolution
    kernels::Activations mamba_xbc;    ///< [rows, xbc_columns]
    kernels::Activations mamba_gate;   ///< [rows, output_columns]: of the output
    kernels::Activations mamba_dt;     ///< [rows, heads]
    kernels::Activations mamba_output; ///< [rows, output_columns]

    // With experts only:
    kernels::Activations router;         ///< [rows, experts]
    kernels::Activations expert_gate;    ///< [pairs, their feed_forward]
    kernels::Activations expert_up;      ///< [pairs, their feed_forward]
    kernels::Activations expert_outputs; ///< [pairs, width]
    vk::Range expert_ids;                ///< kernels::ExpertRouting
    vk::Range routing_weights;
    vk::Range expert_groups;   ///< kernels::ExpertGroups
    vk::Range expert_counters; ///< zero between dispatches

    kernels::Activations branches; ///< [rows, width], with ExpertConfig::has_dense_branch only

    // With a shared expert only:
    kernels::Activations shared_gate;     ///< [rows, its feed_forward]
    kernels::Activations shared_up;       ///< [rows, its feed_forward]
    kernels::Activations shared_row_gate; ///< [rows, 1]
};

/// Activations of `columns` in the memory of wider ones. Both widths are multiples of
/// kernels::column_padding, so that neither has padding.
inline kernels::Activations narrowed(const kernels::Activations& wide, uint32_t columns) {
    if (wide.columns == columns)
        return wide;
    return {.range = wide.range, .columns = columns, .stride = columns, .halves = wide.halves};
}

/// Everything that recording a step needs except the model; all borrowed.
struct Recording {
    kernels::Library& library;
    vk::Recorder& recorder;
    const Activations& activations;
    std::span<const LayerState> states; ///< [layers], that of a draft head last
    const Step& step;
};

/// Returns rows [first, first + count) of a step as the kernels take them.
inline kernels::Rows rows_of(const GroupInputs& inputs, uint32_t first, uint32_t count) {
    return {.infos = inputs.infos.part(uint64_t{first} * sizeof(kernels::RowInfo),
                                       uint64_t{count} * sizeof(kernels::RowInfo)),
            .first = first,
            .count = count};
}

} // namespace etna::model
