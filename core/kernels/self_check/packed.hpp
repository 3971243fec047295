#pragma once

#include "core/kernels/self_check/kernel_run.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::kernels {

/// Rows of activations, [rows][columns] with columns a multiple of tile_columns, as packed blocks
/// and codes (shaders/include/packed.glsl), in words. Sums are added in order.
std::vector<uint32_t> packed_of(std::span<const float> rows);

/// The same as rows of f16 with one factor (shaders/include/f16_row.glsl), in words; unused ones are zero.
std::vector<uint32_t> f16_rows_of(std::span<const float> rows, uint32_t columns);

/// Whether blocks have the expected packed form, bit by bit, and sums of them that differ in the order of
/// additions only. expect_blocks() compares the codes.
bool packed_equal(std::span<const uint32_t> words, std::span<const uint32_t> expected);

/// The numbers that the codes of blocks represent, of 1 byte or with fine codes of 2, [blocks][tile_columns].
std::vector<float> coded(std::span<const uint32_t> blocks, uint32_t code_bytes);

/// Expects packed blocks in `range` that represent these numbers, rounded to f16 within their block, and
/// codes that represent the numbers if the target's kernels write them.
void expect_blocks(KernelRun& run, vk::Range range, std::vector<Bounded> expected);

/// Expects a row of f16 in `range` that represents these numbers, rounded to f16 as parts of its factor.
void expect_f16_row(KernelRun& run, vk::Range range, std::vector<Bounded> expected);

/// binary16 of |x| <= 65504, to the nearest, ties to even.
uint16_t float_to_half(float x);

} // namespace etna::kernels
