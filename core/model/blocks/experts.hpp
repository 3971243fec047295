#pragma once

#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/blocks/shared_expert.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <optional>

namespace etna::model {

/// residual += sum_e share_e Down_e (act(Gate_e h) * Up_e h) over the experts e that Router h chooses, with
/// h = rms_norm(residual) (arXiv 1701.06538), and the output of a shared expert for the same h.
struct ExpertsBlock {
    vk::Range norm;
    LinearWeights router;                     ///< [experts, width]
    std::optional<kernels::MatrixStack> gate; ///< empty: act(Gate h) * Up h is max(Up h, 0)^2
    kernels::MatrixStack up;
    kernels::MatrixStack down;
    std::optional<vk::Range>
        gate_bias; ///< f32 [experts, their feed_forward]; with up_bias and down_bias, or none
    std::optional<vk::Range> up_bias;
    std::optional<vk::Range> down_bias; ///< f32 [experts, width]
    std::optional<SharedExpert> shared;
    kernels::Gate gate_kind = kernels::Gate::silu;
    uint32_t experts_per_token = 0;
    kernels::RoutingRule rule;
    float epsilon = 0;
    uint32_t nan_probe = 0; ///< number of its norm's probe
};

/// Optional parts of an architecture's experts, in addition to norm, router, gate, up and down.
struct ExpertTensors {
    bool biases = false; ///< of the router, and of each expert's gate, up and down
};

/// Declares blk.<layer>.<norm>, ffn_gate_inp, ffn_*_exps and, with a shared expert, ffn_*_shexp.
void declare_experts(TensorTable& table, const Config& config, uint32_t layer, ExpertTensors tensors = {});

/// The block over tensors that declare_experts() declared.
ExpertsBlock experts_block(const Weights& weights, const Config& config, uint32_t layer);

/// Whether decode rows of gate or up read the packed form of h.
bool reads_packed(const ExpertsBlock& block);

/// Rows of a step whose experts take one path, and their scratch memory.
struct ExpertShare {
    uint32_t first = 0; ///< rows [first, first + choice.rows) of the step
    kernels::ExpertRouting choice;
    kernels::Activations inner; ///< [pairs, their feed_forward]: the input of `down`
    bool is_on_units = false;   ///< kernels::expert_matrix()
    std::optional<kernels::ExpertGroups> groups = std::nullopt; ///< record_groups()
};

/// What the block's steps hand to each other.
struct ExpertRows {
    kernels::Activations router; ///< [rows, experts]
    kernels::ExpertRouting choice;
    std::vector<ExpertShare> shares; ///< together all rows
};
ExpertRows take_expert_rows(const Recording& recording, const ExpertsBlock& block);

/// The packed form in which prefill rows read the block's norm.
kernels::PackedForm prefill_form(const Recording& recording, const ExpertsBlock& block);

// The steps of the block without its norm and its shared expert.
/// Records the choices of the router for all rows of its input.
void record_routing(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows,
                    const kernels::Activations& input);
/// Records the groups that the pairs need; few rows of matrices in tiles need none.
void record_groups(const Recording& recording, const ExpertsBlock& block, ExpertRows& rows);
/// Records the inner values of the pairs of Activations::hidden.
void record_inner(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows);
/// Records output (=|+=) the sum of the experts' outputs.
void record_sum(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows,
                const kernels::Activations& output, kernels::Store store);

/// Records the block.
void record(const Recording& recording, const ExpertsBlock& block);

} // namespace etna::model
