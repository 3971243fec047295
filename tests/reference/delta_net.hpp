#pragma once

#include "tests/reference/operations.hpp"

#include <cstddef>

namespace etna::reference {

/// The causal convolution of each channel over the tokens, then silu(z) = z / (1 + exp(-z)):
///     y_t,c = silu(bias_c + sum_d weights_c,d x_(t - width + 1 + d),c),  x_t = 0 for t < 0.
/// `x` [tokens, channels]; `weights` [channels, width]; `bias` [channels] or empty. Gu and Dao, arXiv
/// 2312.00752.
Matrix short_convolution(const Matrix& x, const Matrix& weights, View bias);

/// LFM2's convolution (transformers, modeling_lfm2.py): of b x, without silu, times c:
///     y_t,c = c_t,c (bias_c + sum_d weights_c,d (b x)_(t - width + 1 + d),c).
/// `bcx` [tokens, b, c and x of the channels]; the others as above.
Matrix gated_short_convolution(const Matrix& bcx, const Matrix& weights, View bias);

/// y_i = x_i / sqrt(mean(x^2) + epsilon) weight_i silu(gate_i), all of one head.
Vector gated_rms_norm(View x, View gate, View weight, double epsilon);

struct DeltaHeads {
    std::size_t key_heads = 1;
    std::size_t value_heads = 1; ///< a multiple of key_heads
    std::size_t key_length = 1;
    std::size_t value_length = 1;
    bool is_tiled = false; ///< value head h reads key head h % key_heads, else h / (value_heads / key_heads)
};

/// A gated delta net (Yang et al., arXiv 2412.06464, equation 10, with the normalisation and gates of
/// Qwen3-Next), one token at a time. For every value head with state S [value_length][key_length], at first
/// zero:
///     k and q are divided by sqrt(sum of squares + epsilon), q then by sqrt(key_length);
///     S := alpha S, alpha = exp(decay log(1 + exp(a + dt_bias)));
///     S := S + beta (v - S k) k^T, beta = 1 / (1 + exp(-b));  o = S q.
class DeltaNet {
public:
    /// `decay` and `dt_bias` [value_heads].
    DeltaNet(const DeltaHeads& heads, Vector decay, Vector dt_bias, double epsilon);

    /// `qkv`: q and k [key_heads, key_length], v [value_heads, value_length]; `a` and `b` [value_heads].
    /// Returns o [value_heads, value_length]. Preconditions are asserted.
    Vector step(View qkv, View a, View b);

    /// [value_heads, value_length, key_length]
    [[nodiscard]] const Vector& state() const { return state_; }

private:
    DeltaHeads heads_;
    Vector decay_;
    Vector dt_bias_;
    double epsilon_;
    Vector state_;
};

} // namespace etna::reference
