#pragma once

#include <array>
#include <cstdint>

namespace etna::sampling {

/// Philox4x32 with 10 rounds: a counter-based generator, four random words for each counter and key.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

} // namespace etna::sampling
