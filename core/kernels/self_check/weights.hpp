#pragma once

#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/trial.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::kernels {

/// Matrices of noise, packed one behind the other, and what their weights are worth.
struct NoiseMatrices {
    Matrix device;                   ///< shape of each; ranges of all
    std::vector<double> values = {}; ///< [count][rows][columns]
    std::vector<double> sizes = {};  ///< likewise: |scale x code| + |offset|, whose roundings add up
};

struct NoiseShape {
    Layout layout;
    uint32_t rows = 0;
    uint32_t columns = 0; ///< whole blocks of the format
    uint32_t count = 1;
};

/// Random blocks as a file has them, whose scales are of the usual size, repacked into the trial's memory;
/// the numbers are read from what was packed, so that they hold whatever repacking did.
NoiseMatrices put_weights(Trial& trial, Noise& noise, const NoiseShape& shape);

/// The number of columns nearest above that the format can have, odd where it may be.
uint32_t odd_columns(Format format, uint32_t columns);

/// A row of a matrix times x, both [x.size()], with the bound of its rounding in any order of sums: Higham,
/// "Accuracy and Stability of Numerical Algorithms", 3.1.
Bounded product(const NoiseMatrices& matrices, uint64_t row, std::span<const float> x);

} // namespace etna::kernels
