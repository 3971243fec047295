#pragma once

#include "tests/reference/operations.hpp"

#include <cstddef>

namespace etna::reference {

/// y_i = v_i / sqrt(mean(v^2) + epsilon) weight_i with v_i = x_i silu(gate_i), all of one group: the norm of
/// Mamba 2 (Dao and Gu, arXiv 2405.21060).
Vector gate_first_rms_norm(View x, View gate, View weight, double epsilon);

struct Mamba2Heads {
    std::size_t heads = 1; ///< a multiple of groups
    std::size_t groups = 1;
    std::size_t head_length = 1;
    std::size_t state_length = 1;
};

/// The selective state space of Mamba 2 (Dao and Gu, arXiv 2405.21060), one token at a time. For every head h
/// with state S [head_length][state_length], at first zero, and B and C of group h / (heads / groups):
///     D_t = log(1 + exp(dt + dt_bias));  S := exp(D_t decay) S + D_t x B^T;  y = S C + skip x.
class Mamba2 {
public:
    /// `decay`, `dt_bias` and `skip` [heads].
    Mamba2(const Mamba2Heads& heads, Vector decay, Vector dt_bias, Vector skip);

    /// `xbc`: x [heads, head_length], B and C [groups, state_length]; `dt` [heads]. Returns y [heads,
    /// head_length]. Preconditions are asserted.
    Vector step(View xbc, View dt);

    /// [heads, head_length, state_length]
    [[nodiscard]] const Vector& state() const { return state_; }

private:
    Mamba2Heads heads_;
    Vector decay_;
    Vector dt_bias_;
    Vector skip_;
    Vector state_;
};

} // namespace etna::reference
