#pragma once

#include <array>
#include <cstdint>

namespace etna::sampling {

/// Philox4x32 with 10 rounds: a counter-based generator, four random words for each counter and key.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Uniform numbers in [0, 1) with 24 random bits that depend on seed and position alone: Philox4x32-10
/// (Salmon et al., SC 2011) with key (seed, 0) and counter (position, 0, 0, 0), top 24 bits of a word: the
/// first word for the draw, the second for XTC. The device computes the same draw (shaders/sample).
float uniform(uint32_t seed, uint32_t position);
float xtc_uniform(uint32_t seed, uint32_t position);

} // namespace etna::sampling
