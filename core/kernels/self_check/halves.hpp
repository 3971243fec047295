#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace etna::kernels {

/// Rows of activations, [rows][columns] with columns a multiple of tile_columns, as blocks of halves
/// (shaders/include/halves.glsl), in words. Sums of halves are added in order.
std::vector<uint32_t> halves_of(std::span<const float> rows);

/// binary16 of |x| <= 65504, to the nearest, ties to even.
uint16_t float_to_half(float x);

} // namespace etna::kernels
