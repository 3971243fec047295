#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/sequences.hpp"

#include <cstdint>

namespace etna::kernels {

/// The key head of a value head h.
enum class KeyHeadOrder : uint8_t {
    grouped, ///< h / (value_heads / key_heads): files of Qwen3-Next
    tiled,   ///< h % key_heads: files of Qwen3.5, whose value heads the converter reordered
};

struct DeltaShape {
    uint32_t key_heads = 0;
    uint32_t value_heads = 0; ///< a multiple of key_heads
    uint32_t key_dim = 0;     ///< at most delta_key_dim_max
    uint32_t value_dim = 0;
    KeyHeadOrder order = KeyHeadOrder::tiled;

    [[nodiscard]] uint32_t output_columns() const { return value_heads * value_dim; }
    /// q, k and v of a row.
    [[nodiscard]] uint32_t qkv_columns() const { return 2 * key_heads * key_dim + output_columns(); }
};
constexpr uint32_t delta_key_dim_max = 256;

/// Of a slot. A state is [value_heads][value_dim][key_dim], a pending row [k | d / |k| | alpha of the heads].
uint64_t delta_state_bytes(const DeltaShape& shape);
uint64_t delta_pending_bytes(const DeltaShape& shape);

/// The columns of a gate, one per value head.
struct DeltaGate {
    Activations rows;
    uint32_t first = 0; ///< column of head 0
};

/// The gated delta net (arXiv 2412.06464) over the rows of each sequence. Per value head with a state S
/// [value_dim][key_dim], and k, q of its key head divided by their lengths, q also by sqrt(key_dim):
///     alpha = exp(decay softplus(a + dt_bias)), beta = 1 / (1 + exp(-b)),
///     d = beta (v - alpha S k),  S = alpha S + d k^T,  o = S q.
/// A length is sqrt(sum of squares + length_epsilon). Outputs and states have the same bits however a
/// sequence's rows are divided into steps, and whichever drafts are rejected.
struct DeltaNet {
    Sequences sequences = {};
    DeltaShape shape;
    Activations qkv = {}; ///< [q | k | v], after the short convolution
    DeltaGate a = {};
    DeltaGate b = {};
    /// Value heads whose columns are neighbours in a and in b; 0: all of them. Each run is followed by as
    /// many columns of the other gate: in Qwen3-Next's ssm_ba, a run has value_heads / key_heads heads.
    uint32_t gate_run = 0;
    vk::Range decay = {};   ///< f32 [value_heads], negative: ssm_a in GGUF files
    vk::Range dt_bias = {}; ///< f32 [value_heads]
    RecurrentStates states;
    Activations output = {}; ///< [rows, output_columns()]
    float length_epsilon = 1e-6F;
};
void delta_net(const Launcher& launcher, const DeltaNet& operation);

extern const Operation delta_net_operation;

} // namespace etna::kernels
