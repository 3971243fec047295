#pragma once

#include "core/model/blocks/altup.hpp"
#include "core/model/blocks/experts.hpp"
#include "core/model/blocks/feed_forward.hpp"
#include "core/model/blocks/parallel_experts.hpp"
#include "core/model/blocks/per_layer.hpp"
#include "core/model/mixer.hpp"
#include "core/model/step.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace etna::model {

/// Works on each position alone.
using FeedForward = std::variant<FeedForwardBlock, ExpertsBlock, ParallelExpertsBlock>;

/// residual += mixer, then residual += feed_forward, of which it has one at least; each begins with its own
/// norm.
struct Layer {
    OwnedMixer mixer; ///< null: none
    std::optional<FeedForward> feed_forward;
    std::optional<PerLayerBlock> per_layer = std::nullopt; ///< after the feed-forward block
    std::optional<AltUpBlock> altup = std::nullopt;        ///< around both blocks, in models with streams
};

/// Predicts the token after the next one from a position's hidden state and its next token (multi-token
/// prediction, arXiv 2412.19437, 2.2):
///   x = layer(projection [rms_norm(embedding[next token]) | rms_norm(hidden state)])
///   logits = head rms_norm(x)
/// The hidden state is the output of the decoder's last norm, and the embedding comes first, as in vLLM
/// (qwen3_next_mtp.py, glm4_moe_mtp.py, deepseek_mtp.py) and llama.cpp (qwen35.cpp). Its layer is an
/// additional layer with attention over the decoder's pages. A page holds keys and values that the head
/// computed for the next token at that time: if a cached prefix continues with another token, drafts become
/// worse, but never the answer.
struct DraftHead {
    kernels::Matrix embedding; ///< [vocabulary, width]; the decoder's if the file has no other
    vk::Range embedding_norm;
    vk::Range hidden_norm;
    LinearWeights projection; ///< [width, 2 width]
    Layer layer;
    vk::Range output_norm; ///< the decoder's if the file has no other
    kernels::Matrix head;  ///< the same
};

/// A decoder over weights on the device (borrowed), assembled by an architecture.
struct Decoder {
    kernels::Matrix embedding;                            ///< [vocabulary, width]
    std::optional<PerLayerInputs> per_layer_inputs;       ///< if the layers have per_layer blocks
    std::optional<StreamEnds> stream_ends = std::nullopt; ///< if the layers have altup blocks
    std::vector<Layer> layers;
    std::optional<vk::Range> positions = std::nullopt;  ///< f32 [positions, width]: added to the embedding
    std::optional<vk::Range> token_type = std::nullopt; ///< f32 [width]: the same
    vk::Range output_norm;
    std::optional<vk::Range> output_norm_bias = std::nullopt;
    bool has_layer_norms = false; ///< the last norm subtracts the mean
    kernels::Matrix head;         ///< [vocabulary, width]; the embedding if tied
    float epsilon = 0;
    float embedding_scale = 1;       ///< of the table's rows
    float embedding_input_scale = 1; ///< of rows whose input is an embedding
    float logit_softcap = 0;         ///< 0: none
    float logit_scale = 1;
    std::vector<uint32_t> suppressed_tokens; ///< their logits become -infinity
    std::optional<DraftHead> draft_head = std::nullopt;
};

/// Records one step: embed, layers, and for the output rows norm, head and sampling;
/// with Step::returns_hidden, also the last norm of all rows into Activations::hidden. The head always takes
/// the decode path, so that a row's logits do not depend on its kind. Regions "layer 3" with "attention"
/// and "feed forward", and "head".
void record_forward(const Recording& recording, const Decoder& decoder);

/// Records the draft head of the step that record_forward() has just recorded; only copies of outputs may
/// come between: the head's layer for all rows, and logits and sampling for the draft rows. Overwrites
/// Activations::logits and Activations::output_hidden. Precondition: the decoder has a draft head.
void record_drafts(const Recording& recording, const Decoder& decoder);

} // namespace etna::model
