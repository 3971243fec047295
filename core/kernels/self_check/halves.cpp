#include "core/kernels/self_check/halves.hpp"

#include "core/base/half.hpp"
#include "core/kernels/halve.hpp"
#include "core/kernels/layout.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/problems.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace etna::kernels {
namespace {

constexpr uint32_t sums_word = 4; ///< of a block
constexpr uint32_t nibble_sums_word = 20;
constexpr uint32_t halves_word = 36;
constexpr uint32_t code_scale_word = 164;
constexpr uint32_t code_sums_word = 168;
constexpr uint32_t codes_word = 184;
constexpr uint32_t block_words = halves_bytes(tile_columns) / 4;
constexpr uint32_t summed = 16; ///< halves that share a sum

/// The power of two at or below the largest magnitude, as the shader bounds it.
float factor_of(std::span<const float> block) {
    uint32_t largest = 0;
    for (const float x : block)
        largest = std::max(largest, std::bit_cast<uint32_t>(x) & 0x7FFFFFFFU);
    return std::bit_cast<float>(std::clamp(largest & 0x7F800000U, 0x01000000U, 0x7E000000U));
}

/// Byte of element i among the codes of a block: eight neighbours are (e0 e4 e1 e5) (e2 e6 e3 e7).
constexpr uint32_t code_byte(uint32_t i) {
    constexpr uint32_t places[] = {0, 2, 4, 6, 1, 3, 5, 7};
    return i / 8 * 8 + places[i % 8];
}

int8_t code_at(const uint32_t* words, uint32_t i) {
    const uint32_t byte = code_byte(i);
    return static_cast<int8_t>(words[codes_word + byte / 4] >> (byte % 4 * 8) & 0xFF);
}

void put_codes(std::span<const float> block, uint32_t* words) {
    float largest = 0;
    for (const float x : block)
        largest = std::max(largest, std::abs(x));
    words[code_scale_word] = std::bit_cast<uint32_t>(largest / 127);
    float sum = 0;
    for (uint32_t i = 0; i < block.size(); ++i) {
        const float code = largest > 0 ? std::nearbyint(block[i] * (127 / largest)) : 0;
        const uint32_t byte = code_byte(i);
        words[codes_word + byte / 4] |= (static_cast<uint32_t>(static_cast<int>(code)) & 0xFF)
                                        << (byte % 4 * 8);
        sum += code;
        if ((i + 1) % summed != 0)
            continue;
        words[code_sums_word + i / summed] = std::bit_cast<uint32_t>(sum);
        sum = 0;
    }
}

void put_block(std::span<const float> block, uint32_t* words) {
    put_codes(block, words);
    const float factor = factor_of(block);
    words[0] = std::bit_cast<uint32_t>(factor);
    for (uint32_t first = 0; first < block.size(); first += summed) {
        float sum = 0;
        float nibble_sum = 0;
        for (uint32_t i = first; i < first + summed; ++i) {
            const uint16_t half = float_to_half(block[i] / factor);
            words[halves_word + i / 2] |= uint32_t{half} << (i % 2 * 16);
            sum += half_to_float(half);
            nibble_sum += half_to_float(half) * (i % 4 < 2 ? 1024.0F : 64.0F);
        }
        words[sums_word + first / summed] = std::bit_cast<uint32_t>(sum);
        words[nibble_sums_word + first / summed] = std::bit_cast<uint32_t>(nibble_sum);
    }
}

float float_at(const uint32_t* words, std::size_t index) {
    return std::bit_cast<float>(words[index]);
}

/// Whether a block stands for `expected`, and its sums for its halves.
bool stands_for(const uint32_t* words, std::span<const Bounded> expected) {
    const double factor = float_at(words, 0);
    double sum = 0;
    double nibble_sum = 0;
    for (uint32_t i = 0; i < expected.size(); ++i) {
        const double half = half_to_float(static_cast<uint16_t>(words[halves_word + i / 2] >> (i % 2 * 16)));
        const double tolerance =
            expected[i].tolerance + 0x1p-11 * std::abs(expected[i].value) + factor * 0x1p-24;
        if (!(std::abs(factor * half - expected[i].value) <= tolerance) || std::abs(half) > 2)
            return false;
        sum += half;
        nibble_sum += half * (i % 4 < 2 ? 1024 : 64);
        if ((i + 1) % summed != 0)
            continue;
        constexpr double sum_tolerance = 2.0 * summed * summed * rounding;
        if (!(std::abs(sum - float_at(words, sums_word + i / summed)) <= sum_tolerance) ||
            !(std::abs(nibble_sum - float_at(words, nibble_sums_word + i / summed)) <= 1024 * sum_tolerance))
            return false;
        sum = nibble_sum = 0;
    }
    return true;
}

/// Whether the codes of a block represent `expected`, and their sums are right.
bool codes_represent(const uint32_t* words, std::span<const Bounded> expected) {
    const double scale = float_at(words, code_scale_word);
    double sum = 0;
    for (uint32_t i = 0; i < expected.size(); ++i) {
        const int8_t code = code_at(words, i);
        const double tolerance =
            expected[i].tolerance + 0.501 * scale + 0x1p-20 * std::abs(expected[i].value);
        if (!(std::abs(scale * code - expected[i].value) <= tolerance))
            return false;
        sum += code;
        if ((i + 1) % summed != 0)
            continue;
        if (sum != float_at(words, code_sums_word + i / summed))
            return false;
        sum = 0;
    }
    return true;
}

void expect_blocks(Trial& trial, vk::Range range, std::vector<Bounded> expected, bool with_codes) {
    trial.expect(range, [with_codes, expected = std::move(expected)](ByteView content) {
        const auto* words = reinterpret_cast<const uint32_t*>(content.data());
        for (std::size_t block = 0; block < expected.size() / tile_columns; ++block) {
            const auto numbers = std::span(expected).subspan(block * tile_columns, tile_columns);
            const uint32_t* const block_at = words + block * block_words;
            if (!stands_for(block_at, numbers) || (with_codes && !codes_represent(block_at, numbers)))
                return false;
        }
        return true;
    });
}

} // namespace

void expect_halves(Trial& trial, vk::Range range, std::vector<Bounded> expected) {
    expect_blocks(trial, range, std::move(expected), false);
}

void expect_blocks(Trial& trial, vk::Range range, std::vector<Bounded> expected) {
    expect_blocks(trial, range, std::move(expected), written_blocks(trial.library().target()) == 2);
}

std::vector<float> coded(std::span<const uint32_t> blocks) {
    std::vector<float> numbers;
    for (std::size_t at = 0; at < blocks.size(); at += block_words) {
        const uint32_t* const block = blocks.data() + at;
        for (uint32_t i = 0; i < tile_columns; ++i)
            numbers.push_back(float_at(block, code_scale_word) * static_cast<float>(code_at(block, i)));
    }
    return numbers;
}

uint16_t float_to_half(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude < 0x38800000U) // below 2^-14: multiples of 2^-24
        return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::abs(x) * 0x1p24F)));
    return static_cast<uint16_t>(sign | (magnitude - 0x38000000U + 0x0FFF + (magnitude >> 13 & 1)) >> 13);
}

std::vector<uint32_t> halves_of(std::span<const float> rows) {
    std::vector<uint32_t> words(rows.size() / tile_columns * block_words);
    for (std::size_t block = 0; block < rows.size() / tile_columns; ++block)
        put_block(rows.subspan(block * tile_columns, tile_columns), words.data() + block * block_words);
    return words;
}

void pose_halve(Trial& trial, const KernelUse&) {
    constexpr uint32_t rows = 3;
    constexpr uint32_t columns = 2 * tile_columns;
    Noise noise(11);
    std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    x[0] = 3e20F;                                              // the others of its block round to zero
    std::fill_n(x.begin() + tile_columns, tile_columns, 0.0F); // a block without any magnitude
    std::for_each(x.end() - 40, x.end(), [](float& one) { one *= 0x1p-18F; }); // some subnormal halves
    Activations input = trial.put_rows(x, rows, columns);
    input.halves = trial.put(std::vector<uint32_t>(halves_of(x).size(), 0xCDCDCDCD));
    halve(trial.library(), trial.recorder(), {.rows = input, .count = rows});
    trial.expect(input.halves, [expected = halves_of(x)](ByteView content) {
        const auto* words = reinterpret_cast<const uint32_t*>(content.data());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const std::size_t word = i % block_words;
            if (word >= code_scale_word)
                continue; // expect_blocks() below
            if (word == 0 || word >= halves_word) {
                if (words[i] != expected[i])
                    return false;
            } else if (word >= sums_word) { // the order of additions is the kernel's
                const float difference = std::bit_cast<float>(words[i]) - std::bit_cast<float>(expected[i]);
                const double largest = word < nibble_sums_word ? 2 : 2048; // of a term
                if (!(std::abs(difference) <= largest * summed * summed * rounding))
                    return false;
            }
        }
        return true;
    });
    std::vector<Bounded> exact;
    exact.reserve(x.size());
    for (const float one : x)
        exact.push_back({one, 0});
    expect_blocks(trial, input.halves, exact);
}

} // namespace etna::kernels
