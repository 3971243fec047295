#pragma once

#include <cstdint>
#include <vector>

namespace etna::kernels {

/// Pseudo-random numbers, the same everywhere: a linear congruential generator of 64 bits (Knuth's MMIX)
/// whose upper half is used.
class Noise {
public:
    explicit Noise(uint64_t seed) : state_(seed) {}

    uint32_t bits() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<uint32_t>(state_ >> 32);
    }
    /// From [-1, 1), with 24 bits.
    float number() { return static_cast<float>(static_cast<int32_t>(bits()) >> 8) * 0x1p-23F; }
    std::vector<float> numbers(uint64_t count) {
        std::vector<float> result(count);
        for (float& one : result)
            one = number();
        return result;
    }

private:
    uint64_t state_;
};

} // namespace etna::kernels
