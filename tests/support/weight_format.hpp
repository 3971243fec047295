#pragma once

#include "tests/support/gguf_writer.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

// Formats of the weights of written models. Deliberately independent of core/gguf and tests/reference:
// numbers and sizes are repeated here from the GGUF specification.
namespace etna::test {

enum class WeightFormat {
    f32,
    f16,
    bf16,
    q8_0,
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    q2_k,
    q3_k,
    q4_k,
    q5_k,
    q6_k,
    iq4_nl,
    iq4_xs,
    mxfp4,
};

constexpr WeightFormat all_weight_formats[] = {
    WeightFormat::f32,  WeightFormat::f16,    WeightFormat::bf16,   WeightFormat::q8_0,
    WeightFormat::q4_0, WeightFormat::q4_1,   WeightFormat::q5_0,   WeightFormat::q5_1,
    WeightFormat::q2_k, WeightFormat::q3_k,   WeightFormat::q4_k,   WeightFormat::q5_k,
    WeightFormat::q6_k, WeightFormat::iq4_nl, WeightFormat::iq4_xs, WeightFormat::mxfp4,
};

/// Random numbers that are the same everywhere: std::mt19937_64 is defined to the bit, the rest is plain
/// arithmetic.
class RandomNumbers {
public:
    explicit RandomNumbers(uint64_t seed) : generator_(seed) {}

    uint64_t bits() { return generator_(); }

    /// Evenly from [0, 1).
    double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

    /// About normal: the sum of four uniform numbers, brought to mean 0 and standard deviation 1.
    double normal();

private:
    std::mt19937_64 generator_;
};

/// ggml_type.
uint32_t type_number(WeightFormat format);

/// Rows are multiples of this many elements: 1, 32 or 256.
uint32_t block_elements(WeightFormat format);

/// The numbers, rounded to F32, F16, BF16 or Q8_0. Precondition: a multiple of the block length, in one of
/// these formats.
Bytes encode(const std::vector<float>& values, WeightFormat format);

/// Weights of mean 0 and about the given standard deviation. F32, F16, BF16 and Q8_0 hold about normal
/// numbers. Blocks of the other formats have random bits in every field except the scale of the block, so
/// that every value of every field occurs; that scale is of either sign (its minimum accordingly) and differs
/// by up to three times. Half the variance of Q2_K, Q4_K and Q5_K is in the minima that 16 or 32 adjacent
/// elements share. `elements` is a multiple of the block length.
Bytes random_weights(WeightFormat format, std::size_t elements, double deviation, RandomNumbers& numbers);

} // namespace etna::test
