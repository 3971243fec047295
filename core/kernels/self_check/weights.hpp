#pragma once

#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::kernels {

/// Noise matrices, packed contiguously, and the values of their weights.
struct NoiseMatrices {
    Matrix device;                   ///< shape of each; ranges of all
    std::vector<double> values = {}; ///< [count][rows][columns]
    std::vector<double> sizes = {};  ///< same shape: |scale x code| + |offset|, whose roundings add up
};

struct NoiseShape {
    Layout layout;
    uint32_t rows = 0;
    uint32_t columns = 0; ///< a multiple of the format's block length
    uint32_t count = 1;
};

/// Generates random blocks in file format with typical scales and repacks them into the run's memory; the
/// values are read from the packed data, so that they hold even if repacking is wrong.
NoiseMatrices put_weights(KernelRun& run, Noise& noise, const NoiseShape& shape);

/// The next larger number of columns that the format supports, odd if possible.
uint32_t odd_columns(Format format, uint32_t columns);

/// The same for a layout: whole tiles if it is in tiles.
uint32_t fitting_columns(Layout layout, uint32_t columns);

/// A row of a matrix times x, both [x.size()], with the bound of its rounding in any order of sums: Higham,
/// "Accuracy and Stability of Numerical Algorithms", 3.1.
Bounded product(const NoiseMatrices& matrices, uint64_t row, std::span<const float> x);

} // namespace etna::kernels
