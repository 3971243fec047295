#include "core/kernels/self_check/packed.hpp"

#include "core/base/half.hpp"
#include "core/kernels/layout.hpp"
#include "core/kernels/policy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace etna::kernels {
namespace {

constexpr uint32_t quarter_elements = tile_columns / 4;
constexpr uint32_t quarter_words = packed_row_bytes(tile_columns) / 16;
constexpr uint32_t scale_word = 1; ///< of a quarter
constexpr uint32_t fine_scale_word = 2;
constexpr uint32_t sums_word = 4;
constexpr uint32_t nibble_sums_word = 8;
constexpr uint32_t code_sums_word = 12;
constexpr uint32_t fine_sums_word = 16;
constexpr uint32_t code_totals_word = 20;
constexpr uint32_t fine_totals_word = 24;
constexpr uint32_t halves_word = 28;
constexpr uint32_t codes_word = 60;
constexpr uint32_t fine_codes_word = 76;
constexpr uint32_t block_words = 4 * quarter_words;
constexpr uint32_t summed = 16; ///< halves that share a sum

/// First word of the quarter of element i of a block.
constexpr uint32_t quarter_of(uint32_t i) {
    return i / quarter_elements * quarter_words;
}

/// Index, within its quarter, of the sum that includes element i.
constexpr uint32_t sum_of(uint32_t i) {
    return i % quarter_elements / summed;
}

/// The power of two at or below the largest magnitude, as the shader bounds it.
float factor_of(std::span<const float> block) {
    uint32_t largest = 0;
    for (const float x : block)
        largest = std::max(largest, std::bit_cast<uint32_t>(x) & 0x7FFFFFFFU);
    return std::bit_cast<float>(std::clamp(largest & 0x7F800000U, 0x01000000U, 0x7E000000U));
}

/// Byte of element i among the codes of a quarter: eight neighbours are (e0 e4 e1 e5) (e2 e6 e3 e7).
constexpr uint32_t code_byte(uint32_t i) {
    constexpr uint32_t places[] = {0, 2, 4, 6, 1, 3, 5, 7};
    return i % quarter_elements / 8 * 8 + places[i % 8];
}

/// Code i of the block at `words`, of the codes that begin at word `first` of quarters.
int code_at(const uint32_t* words, uint32_t first, uint32_t i) {
    const uint32_t byte = code_byte(i);
    return static_cast<int8_t>(words[quarter_of(i) + first + byte / 4] >> (byte % 4 * 8) & 0xFF);
}

void put_code(uint32_t* words, uint32_t first, uint32_t i, int code) {
    const uint32_t byte = code_byte(i);
    words[quarter_of(i) + first + byte / 4] |= (static_cast<uint32_t>(code) & 0xFF) << (byte % 4 * 8);
}

void put_codes(std::span<const float> block, uint32_t* words) {
    float largest = 0;
    for (const float x : block)
        largest = std::max(largest, std::abs(x));
    int sum = 0;
    int fine_sum = 0;
    for (uint32_t i = 0; i < block.size(); ++i) {
        const float scaled = largest > 0 ? block[i] * (127 / largest) : 0;
        const float rounded = std::nearbyint(scaled);
        const auto code = static_cast<int>(rounded);
        const auto fine = static_cast<int>(std::min(std::nearbyint((scaled - rounded) * 256), 127.0F));
        put_code(words, codes_word, i, code);
        put_code(words, fine_codes_word, i, fine);
        sum += code;
        fine_sum += 256 * code + fine;
        if ((i + 1) % summed != 0)
            continue;
        uint32_t* const sums = words + quarter_of(i) + sum_of(i);
        sums[code_sums_word] = std::bit_cast<uint32_t>(static_cast<float>(sum));
        sums[fine_sums_word] = std::bit_cast<uint32_t>(static_cast<float>(fine_sum));
        sums[code_totals_word] = static_cast<uint32_t>(sum);
        sums[fine_totals_word] = static_cast<uint32_t>(fine_sum);
        words[quarter_of(i) + scale_word] = std::bit_cast<uint32_t>(largest / 127);
        words[quarter_of(i) + fine_scale_word] = std::bit_cast<uint32_t>(largest / (127 * 256));
        sum = fine_sum = 0;
    }
}

void put_block(std::span<const float> block, uint32_t* words) {
    put_codes(block, words);
    const float factor = factor_of(block);
    for (uint32_t first = 0; first < block.size(); first += summed) {
        float sum = 0;
        float nibble_sum = 0;
        uint32_t* const quarter = words + quarter_of(first);
        quarter[0] = std::bit_cast<uint32_t>(factor);
        for (uint32_t i = first; i < first + summed; ++i) {
            const uint16_t half = float_to_half(block[i] / factor);
            quarter[halves_word + i % quarter_elements / 2] |= uint32_t{half} << (i % 2 * 16);
            sum += half_to_float(half);
            nibble_sum += half_to_float(half) * (i % 4 < 2 ? 1024.0F : 64.0F);
        }
        quarter[sums_word + sum_of(first)] = std::bit_cast<uint32_t>(sum);
        quarter[nibble_sums_word + sum_of(first)] = std::bit_cast<uint32_t>(nibble_sum);
    }
}

float float_at(const uint32_t* words, std::size_t index) {
    return std::bit_cast<float>(words[index]);
}

/// Whether a block represents `expected`, and its sums match its halves.
bool stands_for(const uint32_t* words, std::span<const Bounded> expected) {
    double sum = 0;
    double nibble_sum = 0;
    for (uint32_t i = 0; i < expected.size(); ++i) {
        const uint32_t* const quarter = words + quarter_of(i);
        const double factor = float_at(quarter, 0);
        const double half = half_to_float(
            static_cast<uint16_t>(quarter[halves_word + i % quarter_elements / 2] >> (i % 2 * 16)));
        const double tolerance =
            expected[i].tolerance + 0x1p-11 * std::abs(expected[i].value) + factor * 0x1p-24;
        if (!(std::abs(factor * half - expected[i].value) <= tolerance) || std::abs(half) > 2)
            return false;
        sum += half;
        nibble_sum += half * (i % 4 < 2 ? 1024 : 64);
        if ((i + 1) % summed != 0)
            continue;
        constexpr double sum_tolerance = 2.0 * summed * summed * rounding;
        if (!(std::abs(sum - float_at(quarter, sums_word + sum_of(i))) <= sum_tolerance) ||
            !(std::abs(nibble_sum - float_at(quarter, nibble_sums_word + sum_of(i))) <= 1024 * sum_tolerance))
            return false;
        sum = nibble_sum = 0;
    }
    return true;
}

/// Whether the sum of 16 codes is right, as a float and as an integer.
bool sum_is_right(const uint32_t* words, uint32_t i, uint32_t sums, uint32_t totals, int expected) {
    const uint32_t* const quarter = words + quarter_of(i) + sum_of(i);
    return float_at(quarter, sums) == static_cast<float>(expected) &&
           quarter[totals] == static_cast<uint32_t>(expected);
}

/// Whether the codes of a block represent `expected`, and their sums are right.
bool codes_represent(const uint32_t* words, std::span<const Bounded> expected) {
    int sum = 0;
    int fine_sum = 0;
    for (uint32_t i = 0; i < expected.size(); ++i) {
        const double scale = float_at(words, quarter_of(i) + scale_word);
        const double fine_scale = float_at(words, quarter_of(i) + fine_scale_word);
        const int code = code_at(words, codes_word, i);
        const int whole = 256 * code + code_at(words, fine_codes_word, i);
        const double tolerance = expected[i].tolerance + 0x1p-20 * std::abs(expected[i].value);
        // A fine code has no 128.
        if (!(std::abs(scale * code - expected[i].value) <= tolerance + 0.501 * scale) ||
            !(std::abs(fine_scale * whole - expected[i].value) <= tolerance + 1.001 * fine_scale))
            return false;
        sum += code;
        fine_sum += whole;
        if ((i + 1) % summed != 0)
            continue;
        if (!sum_is_right(words, i, code_sums_word, code_totals_word, sum) ||
            !sum_is_right(words, i, fine_sums_word, fine_totals_word, fine_sum))
            return false;
        sum = fine_sum = 0;
    }
    return true;
}

} // namespace

void expect_blocks(KernelRun& run, vk::Range range, std::vector<Bounded> expected) {
    const bool with_codes = written_blocks(run.library().target()) == 2;
    run.expect(range, [with_codes, expected = std::move(expected)](ByteView content) {
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

std::vector<float> coded(std::span<const uint32_t> blocks, uint32_t code_bytes) {
    std::vector<float> numbers;
    for (std::size_t at = 0; at < blocks.size(); at += block_words) {
        const uint32_t* const block = blocks.data() + at;
        for (uint32_t i = 0; i < tile_columns; ++i) {
            const int code = code_at(block, codes_word, i);
            const int whole = 256 * code + code_at(block, fine_codes_word, i);
            numbers.push_back(code_bytes == 2 ? float_at(block, fine_scale_word) * static_cast<float>(whole)
                                              : float_at(block, scale_word) * static_cast<float>(code));
        }
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

std::vector<uint32_t> packed_of(std::span<const float> rows) {
    std::vector<uint32_t> words(rows.size() / tile_columns * block_words);
    for (std::size_t block = 0; block < rows.size() / tile_columns; ++block)
        put_block(rows.subspan(block * tile_columns, tile_columns), words.data() + block * block_words);
    return words;
}

std::vector<uint32_t> f16_rows_of(std::span<const float> rows, uint32_t columns) {
    constexpr int top_exponent = 14; // of the largest element
    const std::size_t row_words = f16_row_bytes(columns) / sizeof(uint32_t);
    std::vector<uint32_t> words(rows.size() / columns * row_words);
    for (std::size_t row = 0; row < rows.size() / columns; ++row) {
        const std::span<const float> x = rows.subspan(row * columns, columns);
        float largest = 0x1p-110F;
        for (const float one : x)
            largest = std::max(largest, std::abs(one));
        const float factor = std::ldexp(1.0F, std::ilogb(largest) - top_exponent);
        for (std::size_t k = 0; k < columns; ++k)
            words[row * row_words + k / 2] |= uint32_t{float_to_half(x[k] / factor)} << (k % 2 * 16);
        words[row * row_words + columns / 2] = std::bit_cast<uint32_t>(factor);
    }
    return words;
}

void expect_f16_row(KernelRun& run, vk::Range range, std::vector<Bounded> expected) {
    run.expect(range, [expected = std::move(expected)](ByteView content) {
        const auto* words = reinterpret_cast<const uint32_t*>(content.data());
        const double factor = std::bit_cast<float>(words[expected.size() / 2]);
        for (std::size_t k = 0; k < expected.size(); ++k) {
            const double part = half_to_float(static_cast<uint16_t>(words[k / 2] >> (k % 2 * 16)));
            const auto& [value, tolerance] = expected[k];
            const double rounded = tolerance + std::abs(value) * 0x1p-11 + factor * 0x1p-25;
            if (!(std::abs(part * factor - value) <= rounded))
                return false;
        }
        return true;
    });
}

bool packed_equal(std::span<const uint32_t> words, std::span<const uint32_t> expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t word = i % quarter_words;
        const bool is_sum = word >= sums_word && word < code_sums_word;
        if (word == 0 || (word >= halves_word && word < codes_word)) {
            if (words[i] != expected[i])
                return false;
        } else if (is_sum) { // the order of additions is the kernel's
            const float difference = std::bit_cast<float>(words[i]) - std::bit_cast<float>(expected[i]);
            const double largest = word < nibble_sums_word ? 2 : 2048; // of a term
            if (!(std::abs(difference) <= largest * summed * summed * rounding))
                return false;
        }
    }
    return true;
}

} // namespace etna::kernels
