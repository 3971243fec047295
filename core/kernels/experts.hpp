#pragma once

#include "core/kernels/layout.hpp"

#include <cstdint>

namespace etna::kernels {

/// Matrices of one shape and layout behind one another on the device, among which an index chooses.
struct MatrixStack {
    Matrix matrices; ///< shape of each; ranges of all: [count] x packed_bytes() of weights, and of scales
    uint32_t count = 0;
};

} // namespace etna::kernels
