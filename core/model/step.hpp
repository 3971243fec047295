#pragma once

#include "core/kernels/operations.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::model {

/// Consecutive rows of a step that take one numeric path. A step has at most two: generation first, then
/// prompt.
struct Run {
    kernels::RowPath path = kernels::RowPath::decode;
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t longest = 0; ///< largest index + 1 among its rows
};

/// Inputs of a step for the layers of one cache group.
struct GroupInputs {
    vk::Range infos; ///< kernels::RowInfo [rows]; `input` is the same in every group
    kernels::PageTables tables;
    vk::Range angles; ///< f32 (cos, sin) pairs, [rows][rotary dims / 2]
};

/// One forward pass: its rows and the device ranges of their inputs from the host. All borrowed.
struct Step {
    std::span<const Run> runs; ///< together [0, rows)
    uint32_t rows = 0;
    std::span<const GroupInputs> groups;

    uint32_t wanted = 0;      ///< rows that go through the head; 0: none
    vk::Range wanted_indices; ///< u32 [wanted], rows of the step
    vk::Range sample_infos;   ///< kernels::SampleInfo [wanted]
    vk::Range sample_results; ///< kernels::SampleResult [wanted], written
    uint32_t candidates = 1;  ///< largest number that a wanted row needs
};

/// Device scratch memory of a step; f32 activations, rows padded with zeros.
struct Activations {
    kernels::Activations residual; ///< [rows, width]: the stream that blocks add to
    kernels::Activations hidden;   ///< [rows, width]: normalised input of a block
    kernels::Activations q;        ///< [rows, q_width]
    kernels::Activations k;        ///< [rows, kv_width]
    kernels::Activations v;        ///< [rows, kv_width]
    kernels::Activations attended; ///< [rows, q_width]
    kernels::Activations gate;     ///< [rows, feed_forward]; with experts [pairs, their feed_forward]
    kernels::Activations up;       ///< same shape as `gate`
    kernels::Activations gathered; ///< [wanted, width]: wanted rows after the last norm
    kernels::Activations logits;   ///< [wanted, vocabulary]
    vk::Range attention_partials;  ///< limits the generation rows per attention pass
    vk::Range sample_partials;
    vk::Range slots;  ///< u32 [slots]: sampled ids
    vk::Range stages; ///< u32 [batch_rows_max]: kernels::Watch

    // With experts only:
    kernels::Activations router;         ///< [rows, experts]
    kernels::Activations expert_outputs; ///< [pairs, width]
    vk::Range expert_numbers;            ///< kernels::ExpertRouting
    vk::Range expert_shares;
    vk::Range expert_groups; ///< kernels::ExpertGroups
};

/// Everything that recording a step needs besides the model; all borrowed.
struct Recording {
    kernels::Library& library;
    vk::Recorder& recorder;
    const Activations& activations;
    std::span<const kernels::LayerCache> caches; ///< [layers]
    const Step& step;
};

/// The probe of a norm at the given stage (stage.hpp), over all rows of the step.
inline kernels::Watch watch(const Recording& recording, uint32_t stage) {
    return {.stages = recording.activations.stages, .stage = stage};
}

/// The rows of a run as the kernels take them.
inline kernels::Rows rows_of(const GroupInputs& inputs, uint32_t first, uint32_t count) {
    return {.infos = inputs.infos.part(uint64_t{first} * sizeof(kernels::RowInfo),
                                       uint64_t{count} * sizeof(kernels::RowInfo)),
            .first = first,
            .count = count};
}

} // namespace etna::model
