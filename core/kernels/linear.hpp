#pragma once

#include "core/kernels/rows.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// Whether a kernel may round weights and inputs to f16, as matrix units require.
enum class OperandPrecision : uint8_t { f16_allowed, f32 };

/// y[row] (=|+=) W x[row] for rows [first, first + count). On the decode path the order of every sum
/// depends on shape and layout only, never on count; the same holds on the prefill path, with another kernel.
/// Decode rows of a matrix in tiles read the input's halves, others its elements.
struct Linear {
    Matrix weight;
    Activations input;
    Activations output; ///< columns == weight.rows
    uint32_t first = 0;
    uint32_t count = 0;
    RowPath path = RowPath::decode;
    Store store = Store::replace;
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [weight.rows]
    OperandPrecision factors = OperandPrecision::f16_allowed;
};
void linear(Library& library, vk::Recorder& recorder, const Linear& operation);

} // namespace etna::kernels
