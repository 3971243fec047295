#include "tests/reference/decode.hpp"

#include "tests/reference/decode_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>

namespace etna::reference {
namespace {

constexpr int half_fraction_bits = 10;
constexpr int half_exponent_bias = 15;
constexpr int half_smallest_exponent = -14; // of normal numbers; subnormals share its spacing
constexpr unsigned half_largest_exponent_field = 31;
struct Format {
    gguf::TensorType type;
    std::size_t elements; // per block
    std::size_t bytes;    // per block
    DecodeBlock* decode;
};

constexpr Format formats[] = {
    {gguf::TensorType::f32, 1, 4, decode_f32},           {gguf::TensorType::f16, 1, 2, decode_f16},
    {gguf::TensorType::bf16, 1, 2, decode_bf16},         {gguf::TensorType::q4_0, 32, 18, decode_q4_0},
    {gguf::TensorType::q4_1, 32, 20, decode_q4_1},       {gguf::TensorType::q5_0, 32, 22, decode_q5_0},
    {gguf::TensorType::q5_1, 32, 24, decode_q5_1},       {gguf::TensorType::q8_0, 32, 34, decode_q8_0},
    {gguf::TensorType::q2_k, 256, 84, decode_q2_k},      {gguf::TensorType::q3_k, 256, 110, decode_q3_k},
    {gguf::TensorType::q4_k, 256, 144, decode_q4_k},     {gguf::TensorType::q5_k, 256, 176, decode_q5_k},
    {gguf::TensorType::q6_k, 256, 210, decode_q6_k},     {gguf::TensorType::iq4_nl, 32, 18, decode_iq4_nl},
    {gguf::TensorType::iq4_xs, 256, 136, decode_iq4_xs}, {gguf::TensorType::mxfp4, 32, 17, decode_mxfp4},
};

const Format* find_format(gguf::TensorType type) {
    const auto* found = std::ranges::find(formats, type, &Format::type);
    return found == std::end(formats) ? nullptr : found;
}

} // namespace

double half_to_double(uint16_t bits) {
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    const unsigned exponent = (bits >> half_fraction_bits) & half_largest_exponent_field;
    const int fraction = bits & 0x3FFU;
    if (exponent == half_largest_exponent_field) {
        return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sign * std::numeric_limits<double>::infinity();
    }
    if (exponent == 0) // zero and subnormals: no hidden bit
        return sign * std::ldexp(fraction, half_smallest_exponent - half_fraction_bits);
    return sign *
           std::ldexp(1024 + fraction, static_cast<int>(exponent) - half_exponent_bias - half_fraction_bits);
}

uint16_t double_to_half(double value) {
    const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
    if (std::isnan(value))
        return static_cast<uint16_t>(sign | 0x7E00U);
    const double magnitude = std::fabs(value);
    if (magnitude >=
        65520.0) // half way between the largest finite number, 65504, and 65536: ties go to infinity
        return static_cast<uint16_t>(sign | 0x7C00U);
    if (magnitude == 0.0)
        return static_cast<uint16_t>(sign);

    // Count in units of the spacing around the value; scaling by a power of two is exact, nearbyint rounds to
    // even.
    const int exponent = std::max(std::ilogb(magnitude), half_smallest_exponent);
    const auto units =
        static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, half_fraction_bits - exponent)));

    // Subnormals have 0 in the exponent field and units < 1024. Adding, not or-ing, lets units == 1024 (the
    // smallest normal) and units == 2048 (the next power of two) carry into the exponent field.
    const auto field = static_cast<unsigned>(exponent - half_smallest_exponent);
    return static_cast<uint16_t>(sign | ((field << half_fraction_bits) + units));
}

double bfloat16_to_double(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U);
}

uint16_t double_to_bfloat16(double value) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    if (std::isnan(value))
        return static_cast<uint16_t>((bits >> 16U) | 0x40U); // so that a NaN remains one without its low bits
    const uint32_t upper = bits >> 16U;
    const uint32_t lower = bits & 0xFFFFU;
    const bool round_up = lower > 0x8000U || (lower == 0x8000U && (upper & 1U) != 0);
    return static_cast<uint16_t>(upper + (round_up ? 1 : 0));
}

double round_to_float(double value) {
    return static_cast<float>(value);
}

double round_to_half(double value) {
    return half_to_double(double_to_half(value));
}

bool can_decode(gguf::TensorType type) {
    return find_format(type) != nullptr;
}

namespace {

std::vector<Element> elements_of(gguf::TensorType type, ByteView bytes, std::size_t columns) {
    const Format* format = find_format(type);
    assert(format != nullptr && columns % format->elements == 0);
    const std::size_t blocks = columns / format->elements;
    assert(bytes.size() == blocks * format->bytes);
    std::vector<Element> elements(columns);
    for (std::size_t i = 0; i < blocks; ++i)
        format->decode(bytes.data() + i * format->bytes, elements.data() + i * format->elements);
    return elements;
}

double in_half(const Element& element) {
    constexpr double spread = 16; // keeps small scales from the subnormal numbers
    const double scale = round_to_half(spread * element.scale);
    const double offset = round_to_half(spread * element.offset);
    return round_to_half(scale * element.code + offset) / spread;
}

} // namespace

std::vector<double> decode_row(gguf::TensorType type, ByteView bytes, std::size_t columns) {
    std::vector<double> values;
    for (const Element& element : elements_of(type, bytes, columns))
        values.push_back(element.scale * element.code + element.offset);
    return values;
}

std::vector<double> decode_row_in_half(gguf::TensorType type, ByteView bytes, std::size_t columns) {
    const bool is_plain = find_format(type)->elements == 1;
    std::vector<double> values;
    for (const Element& element : elements_of(type, bytes, columns))
        values.push_back(is_plain ? round_to_half(element.code) : in_half(element));
    return values;
}

Matrix decode_matrix(const gguf::Tensor& tensor, ByteView bytes) {
    Matrix matrix{.rows = tensor.shape[1] * tensor.shape[2] * tensor.shape[3],
                  .columns = tensor.shape[0],
                  .values = {},
                  .type = tensor.type};
    const std::size_t row_bytes = matrix.rows == 0 ? 0 : bytes.size() / matrix.rows;
    for (std::size_t row = 0; row < matrix.rows; ++row) {
        const ByteView own = bytes.subspan(row * row_bytes, row_bytes);
        const auto values = decode_row(tensor.type, own, matrix.columns);
        const auto in_half = decode_row_in_half(tensor.type, own, matrix.columns);
        matrix.values.insert(matrix.values.end(), values.begin(), values.end());
        matrix.in_half.insert(matrix.in_half.end(), in_half.begin(), in_half.end());
    }
    return matrix;
}

} // namespace etna::reference
