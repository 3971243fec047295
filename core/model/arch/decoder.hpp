#pragma once

#include "core/model/config.hpp"
#include "core/model/forward.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

namespace etna::model {

/// Declares token_embd, the last norm (Config::output_norm) and output (absent if the head is tied to the
/// embedding).
void declare_ends(TensorTable& table, const Config& config);

/// Declares frequency divisors: LongRoPE's two tensors if the metadata names it, else Llama 3's (optional).
void declare_rotary(TensorTable& table, const Config& config);

/// nextn_predict_layers: the last layers of a Config of read_common() become ignored layers, because they
/// predict further tokens.
void read_further_layers(MetadataReader& reader, Config& config);

/// Makes the first of the ignored layers the layer of a draft head, with attention as in the decoder's
/// layers, if the file has one of the head's own tensors. Precondition: read_further_layers(), and all mixers
/// are set.
void read_draft_head(MetadataReader& reader, Config& config);

/// Ignores the layer of a draft head as well.
void drop_draft_head(Config& config);

/// Declares the tensors of a draft head, if the config has one, but for those of its layer.
void declare_draft_head(TensorTable& table, const Config& config);

/// Accepts the tensors of Config::ignored_layers.
void ignore_further_layers(TensorTable& table, const Config& config);

/// Embedding, the mixer and one feed-forward or experts block of each layer, norm and head, from weights that
/// declare_ends() and the blocks' functions declared.
Decoder assemble_decoder(const Config& config, const Weights& weights);

} // namespace etna::model
