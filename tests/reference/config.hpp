#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "tests/reference/delta_net.hpp"
#include "tests/reference/mamba2.hpp"
#include "tests/reference/operations.hpp"
#include "tests/reference/rotary.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace etna::reference {

/// Activation function of a gate.
enum class GateKind { silu, gelu, clamped_silu };

/// Latent attention before absorption (DeepSeek-V2, arXiv 2405.04434, 2.1): heads of unrotated + rotated
/// elements, whose keys and values are up-projections of a latent and a rotated part that the heads share.
struct LatentShape {
    std::size_t rank = 0;       ///< of the latent; 0: other attention
    std::size_t query_rank = 0; ///< 0: queries have no latent
    std::size_t unrotated = 0;
    std::size_t rotated = 0;
    std::size_t value_length = 0;
};

/// The hyperparameters in a GGUF file's metadata, for the architectures `llama`, `mistral3`, `smollm3`,
/// `granite`, `granitemoe`, `granitehybrid`, `glm4`, `glm4moe`, `lfm2`, `lfm2moe`, `nemotron_h`,
/// `nemotron_h_moe`, `qwen2`, `qwen2moe`, `qwen2vl`, `qwen3`, `qwen3moe`, `qwen3vl`, `qwen3vlmoe`,
/// `qwen3next`, `qwen35`, `qwen35moe`, `phi3`, `gemma2`, `gemma3`, `gemma3n`, `gemma4`, `gpt-oss`,
/// `deepseek2`, `falcon-h1` and `mamba2`.
struct Config {
    /// What differs between layers of gemma3n and gemma4 alone.
    struct Layer {
        std::size_t kv_heads = 0;
        std::size_t head_length = 0;
        std::size_t feed_forward = 0;
        std::optional<std::size_t> keys_of = {}; ///< the earlier layer whose keys and values it reads
        std::optional<double> deviations = {};   ///< of sparse gates (gemma3n)
    };

    std::string architecture;
    std::size_t context_tokens = 0; ///< context of training
    std::size_t layers = 0;
    std::size_t width = 0;        ///< of the residual stream ("embedding length")
    std::size_t feed_forward = 0; ///< width between gate / up and down
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_length = 0; ///< of keys and of values
    LatentShape latent; ///< deepseek2, whose kv heads are its heads and whose head length is a query's
    double epsilon = 0;
    Pairing pairing = Pairing::adjacent;
    RotaryOptions rotary; ///< without divisors: they are a tensor
    /// RoPE of sliding-window layers, if it differs (gemma3).
    std::optional<RotaryOptions> window_rotary = {};
    double original_context_tokens = 0;    ///< above it longrope takes its long divisors
    std::vector<std::size_t> windows = {}; ///< [layers], 0: full attention
    double embedding_scale = 1;
    double attention_scale = 0;
    double attention_soft_cap = 0;  ///< 0: none
    std::vector<bool> rotates = {}; ///< [layers]: positions are embedded by rotation
    double temperature_scale = 0;   ///< of queries by position, 0: none; see ReferenceModel
    std::size_t temperature_tokens = 1;
    double logit_soft_cap = 0; ///< 0: none
    double residual_scale = 1; ///< of the output of a block
    double logit_divisor = 1;
    std::vector<Layer> shapes = {};  ///< [layers]
    std::size_t per_layer_width = 0; ///< of the input that each layer has of a token (gemma4), 0: none
    std::size_t streams = 1;         ///< of AltUp (gemma3n)
    GateKind gate = GateKind::silu;
    std::size_t experts = 0; ///< 0: a plain feed-forward network
    std::size_t experts_used = 0;
    std::size_t expert_feed_forward = 0;
    std::size_t dense_layers = 0;        ///< leading layers without a mixture
    RoutingRule routing;                 ///< without the selection bias, which is a tensor
    std::size_t shared_feed_forward = 0; ///< of the shared expert, 0: none
    std::vector<bool> recurrent =
        {}; ///< [layers]: a gated delta net or, in lfm2 and lfm2moe, a convolution instead of attention
    std::vector<bool> has_mixer = {};        ///< [layers]
    std::vector<bool> has_feed_forward = {}; ///< [layers]
    Mamba2Heads mamba_heads; ///< of Mamba 2, which recurrent layers of granitehybrid and nemotron_h are
    DeltaHeads delta_heads;  ///< of the gated delta nets
    std::size_t convolution_width = 0;
    /// The file has a draft head, whose layer follows the others: lists by layer have one entry more for it.
    bool has_draft_head = false;
};

/// Reads the keys `ARCHITECTURE.*` of the GGUF specification, with the defaults of the convention: kv heads
/// as many as heads, head length = width / heads, rotated = head length, base 10000, no scaling (a scaling
/// factor without a type is linear), YaRN's original context = context_length, its betas 32 and 1, attention
/// factor 1; gemma2: every second layer without window, windows of 4096, soft caps of 50 and 30; gemma3:
/// every sixth layer without window, windows rotate with base 10000 unscaled. gpt-oss: every second layer
/// without window. qwen3next, qwen35 and qwen35moe: every fourth layer with attention, the others
/// with a gated delta net. Errors:
/// unsupported (architecture, scaling type, values of another length than keys), corrupt (a key that is
/// missing, of the wrong type, zero, or contradicts another).
Result<Config> read_config(const gguf::File& file);

/// lfm2 and lfm2moe: some layers are short convolutions.
bool is_lfm2(const Config& config);

/// granitehybrid, nemotron_h and nemotron_h_moe: some layers are of Mamba 2; falcon-h1: all have it too;
/// mamba2: all are of it alone.
bool has_mamba(const Config& config);

/// nemotron_h and nemotron_h_moe: a layer has a mixer or a feed-forward block, which is a squared ReLU.
bool is_nemotron(const Config& config);

/// Whether some layers are gated delta nets.
bool has_delta_nets(const Config& config);

} // namespace etna::reference
