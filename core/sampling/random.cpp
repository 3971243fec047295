#include "core/sampling/random.hpp"

namespace etna::sampling {
namespace {

constexpr uint32_t rounds = 10;
constexpr std::array<uint64_t, 2> multipliers = {0xD2511F53, 0xCD9E8D57};
constexpr std::array<uint32_t, 2> key_increments = {0x9E3779B9, 0xBB67AE85}; // golden ratio, sqrt(3) - 1

float to_unit(uint32_t word) {
    return static_cast<float>(word >> 8) * 0x1p-24F;
}

} // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    for (uint32_t round = 0; round < rounds; ++round) {
        const uint64_t first = multipliers[0] * counter[0];
        const uint64_t second = multipliers[1] * counter[2];
        counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
                   static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
        key[0] += key_increments[0];
        key[1] += key_increments[1];
    }
    return counter;
}

float uniform(uint32_t seed, uint32_t position) {
    return to_unit(philox4x32_10({position, 0, 0, 0}, {seed, 0})[0]);
}

float xtc_uniform(uint32_t seed, uint32_t position) {
    return to_unit(philox4x32_10({position, 0, 0, 0}, {seed, 0})[1]);
}

} // namespace etna::sampling
