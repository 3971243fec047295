#pragma once

#include "core/model/config.hpp"
#include "core/model/tensor_table.hpp"

namespace etna::model {

/// Declares the tensors of Llama, which later architectures share: attention with optional biases, and a
/// feed-forward block or experts in each layer.
TensorTable declare_llama(const Config& config);

} // namespace etna::model
