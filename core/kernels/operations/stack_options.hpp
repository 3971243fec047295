#pragma once

#include "core/kernels/operations/linear.hpp"
#include "shaders/linear/arguments.h"

#include <array>
#include <cstdint>

namespace etna::kernels {

/// Option bits of the biases of a stack, by matrix.
constexpr std::array<uint32_t, stacked_matrices_max> bias_options{
    shaders::linear_bias_0, shaders::linear_bias_1, shaders::linear_bias_2};

} // namespace etna::kernels
