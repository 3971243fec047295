#pragma once

#include "core/model/blocks/altup.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/delta_net.hpp"
#include "core/model/blocks/experts.hpp"
#include "core/model/blocks/feed_forward.hpp"
#include "core/model/blocks/latent_attention.hpp"
#include "core/model/blocks/mamba2.hpp"
#include "core/model/blocks/parallel_experts.hpp"
#include "core/model/blocks/per_layer.hpp"
#include "core/model/blocks/short_convolution.hpp"
#include "core/model/step.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace etna::model {

/// Moves information between positions: see core/model/README.md for what a mixer provides.
using Mixer =
    std::variant<AttentionBlock, LatentAttentionBlock, DeltaNetBlock, ShortConvolutionBlock, Mamba2Block>;

/// Works on each position alone.
using FeedForward = std::variant<FeedForwardBlock, ExpertsBlock, ParallelExpertsBlock>;

/// residual += mixer, then residual += feed_forward, of which it has one at least; each begins with its own
/// norm.
struct Layer {
    std::optional<Mixer> mixer;
    std::optional<FeedForward> feed_forward;
    std::optional<PerLayerBlock> per_layer = std::nullopt; ///< after the feed-forward block
    bool is_parallel = false; ///< its mixer reads nothing that the layer before wrote last
    std::optional<AltUpBlock> altup = std::nullopt; ///< around both blocks, in models with streams
};

/// A decoder over weights on the device (borrowed), assembled by an architecture.
struct Decoder {
    kernels::Matrix embedding;                            ///< [vocabulary, width]
    std::optional<PerLayerInputs> per_layer_inputs;       ///< if the layers have per_layer blocks
    std::optional<StreamEnds> stream_ends = std::nullopt; ///< if the layers have altup blocks
    std::vector<Layer> layers;
    vk::Range output_norm;
    kernels::Matrix head; ///< [vocabulary, width]; the embedding if tied
    float epsilon = 0;
    float embedding_scale = 1;       ///< of the table's rows
    float embedding_input_scale = 1; ///< of rows whose input is an embedding
    float logit_softcap = 0;         ///< 0: none
    float logit_scale = 1;
    std::vector<uint32_t> suppressed_tokens; ///< their logits become -infinity
};

/// Records one step: embed, layers, and for the output rows norm, head and sampling. The head always takes
/// the decode path, so that a row's logits do not depend on its kind. Regions "layer 3" with "attention"
/// and "feed forward", and "head". Dependent steps are separated by barriers; there is none before the first
/// and none after the last: the caller orders its own transfers.
void record_forward(const Recording& recording, const Decoder& decoder);

} // namespace etna::model
