#pragma once

#include "core/kernels/operations/gate_multiply.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <optional>

namespace etna::model {

/// The expert of an experts block that every row uses: residual += Down (g act(Gate h) * Up h), with
/// g = sigmoid(RowGate h), or 1 without a row gate, and the block's h (arXiv 2401.06066, 2407.10671).
struct SharedExpert {
    std::optional<LinearWeights> row_gate; ///< [1, width]
    std::optional<LinearWeights> gate;     ///< empty: act(Gate h) * Up h is max(Up h, 0)^2
    LinearWeights up;
    LinearWeights down;
    kernels::Gate gate_kind = kernels::Gate::silu;
};

/// Declares blk.<layer>.ffn_*_shexp. Precondition: the configuration has a shared expert.
void declare_shared_expert(TensorTable& table, const Config& config, uint32_t layer);

/// The expert over tensors that declare_shared_expert() declared; empty without a shared expert.
std::optional<SharedExpert> shared_expert(const Weights& weights, const Config& config, uint32_t layer);

/// Whether decode rows read the packed form of h.
bool reads_packed(const SharedExpert& expert);

/// The expert's inner rows. Without a gate, `gate` and `up` are the same.
struct SharedRows {
    kernels::Activations gate;                    ///< [rows, its feed_forward]; then the product with `up`
    kernels::Activations up;                      ///< [rows, its feed_forward]
    std::optional<kernels::Activations> row_gate; ///< [rows, 1]
};

// The steps of the block: projections from Activations::hidden, their product,
// and the projection into the residual.
SharedRows record_shared_projections(const Recording& recording, const SharedExpert& expert);
void record_shared_product(const Recording& recording, const SharedExpert& expert, const SharedRows& rows);
void record_shared_output(const Recording& recording, const SharedExpert& expert, const SharedRows& rows);

} // namespace etna::model
