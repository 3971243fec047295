#pragma once

#include "core/model/blocks/delta_net.hpp"
#include "core/model/config.hpp"
#include "core/model/tensor_table.hpp"

namespace etna::model {

// Models of gated delta nets, and of attention with an output gate in some layers: Qwen3.5 and Qwen3-Next
// (arXiv 2412.06464, 2505.06708).

/// Sets the mixers of a Config of read_common(): attention in the layers that attention.recurrent_layers does
/// not list, or in every full_attention_interval-th one, `net` in the others. Calls read_further_layers() and
/// read_draft_head().
/// Fails the reader if no layer has attention.
void read_delta_layers(MetadataReader& reader, Config& config, const DeltaNetConfig& net);

/// Declares the mixer of a layer.
void declare_delta_layer(TensorTable& table, const Config& config, uint32_t layer);

} // namespace etna::model
