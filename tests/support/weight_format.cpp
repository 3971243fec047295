#include "tests/support/weight_format.hpp"

#include "tests/support/binary16.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace etna::test {
namespace {

constexpr uint32_t q8_0_block = 32;
constexpr double e2m1_mean_square = 8.5625; // of the sixteen values of a 4-bit element of MXFP4

/// A format whose blocks may have any bits, except for the binary16 numbers that scale the block.
struct ScaledBlock {
    uint32_t elements;
    uint32_t bytes;
    uint32_t scale_offset;                  ///< of the scale d
    double mean_square;                     ///< of the elements where d = 1 and all other bits are even
    std::optional<uint32_t> minimum_offset; ///< of the number that scales, or is, the minimum
    double minimum_factor = 0;              ///< that number over d, so that the mean is 0
};

// Mean squares follow from the formulas of the elements: those of an even integer of n bits, of 16 levels
// (4548), or products of these.
ScaledBlock scaled_block(WeightFormat format) {
    switch (format) {
    case WeightFormat::q4_0:
        return {32, 18, 0, 21.5, {}};
    case WeightFormat::q4_1:
        return {32, 20, 0, 21.25, 2, -7.5};
    case WeightFormat::q5_0:
        return {32, 22, 0, 85.5, {}};
    case WeightFormat::q5_1:
        return {32, 24, 0, 85.25, 2, -15.5};
    case WeightFormat::q2_k:
        return {256, 84, 80, 192.5, 82, 1.5};
    case WeightFormat::q3_k:
        return {256, 110, 108, 341.5 * 5.5, {}};
    case WeightFormat::q4_k:
        return {256, 144, 0, 66727.5, 2, 7.5};
    case WeightFormat::q5_k:
        return {256, 176, 0, 277651.5, 2, 15.5};
    case WeightFormat::q6_k:
        return {256, 210, 208, 5461.5 * 341.5, {}};
    case WeightFormat::iq4_nl:
        return {32, 18, 0, 4548, {}};
    case WeightFormat::iq4_xs:
        return {256, 136, 0, 341.5 * 4548, {}};
    default:
        throw std::invalid_argument("blocks of this weight format have no binary16 scale");
    }
}

void append_random_bytes(Bytes& bytes, std::size_t count, RandomNumbers& numbers) {
    for (std::size_t i = 0; i < count; ++i)
        bytes.push_back(static_cast<std::byte>(numbers.bits() >> 56));
}

void write_half(Bytes& bytes, std::size_t offset, double value) {
    const uint16_t half = to_half(static_cast<float>(value));
    bytes[offset] = static_cast<std::byte>(half & 0xFF);
    bytes[offset + 1] = static_cast<std::byte>(half >> 8);
}

void append_scaled_block(Bytes& bytes, const ScaledBlock& block, double deviation, RandomNumbers& numbers) {
    const std::size_t start = bytes.size();
    append_random_bytes(bytes, block.bytes, numbers);
    const double size = (0.5 + numbers.uniform()) / std::sqrt(13.0 / 12.0); // mean square 1
    const double sign = numbers.uniform() < 0.5 ? -1.0 : 1.0;
    const double scale = sign * size * deviation / std::sqrt(block.mean_square);
    write_half(bytes, start + block.scale_offset, scale);
    if (block.minimum_offset)
        write_half(bytes, start + *block.minimum_offset, scale * block.minimum_factor);
}

/// A byte e for the scale 2^(e - 127) and 16 bytes of elements. The scale is one of the two powers of two
/// around the requested one, the upper one with the probability that gives the requested mean square.
void append_mxfp4(Bytes& bytes, double deviation, RandomNumbers& numbers) {
    const double wanted = deviation / std::sqrt(e2m1_mean_square);
    const int lower = std::ilogb(wanted);
    const double ratio = std::ldexp(wanted, -lower); // from 1 to 2
    const bool upper = numbers.uniform() < (ratio * ratio - 1) / 3;
    append(bytes, static_cast<uint8_t>(std::clamp(127 + lower + (upper ? 1 : 0), 0, 254)));
    append_random_bytes(bytes, 16, numbers);
}

/// Q8_0: for 32 values a scale as binary16 and 32 signed bytes.
void append_q8_0(Bytes& bytes, const float* values) {
    float largest = 0;
    for (std::size_t i = 0; i < q8_0_block; ++i)
        largest = std::max(largest, std::fabs(values[i]));
    const uint16_t scale = to_half(largest / 127.0F);
    append(bytes, scale);
    const float step = from_half(scale);
    for (std::size_t i = 0; i < q8_0_block; ++i) {
        const float quantum = step == 0 ? 0.0F : std::nearbyint(values[i] / step);
        append(bytes, static_cast<int8_t>(std::clamp(quantum, -127.0F, 127.0F)));
    }
}

bool holds_any_number(WeightFormat format) {
    return format == WeightFormat::f32 || format == WeightFormat::f16 || format == WeightFormat::bf16 ||
           format == WeightFormat::q8_0;
}

} // namespace

double RandomNumbers::normal() {
    double sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += uniform();
    return (sum - 2.0) * 1.7320508075688772; // each uniform number has the variance 1/12
}

uint32_t type_number(WeightFormat format) {
    switch (format) {
    case WeightFormat::f32:
        return 0;
    case WeightFormat::f16:
        return 1;
    case WeightFormat::q4_0:
        return 2;
    case WeightFormat::q4_1:
        return 3;
    case WeightFormat::q5_0:
        return 6;
    case WeightFormat::q5_1:
        return 7;
    case WeightFormat::q8_0:
        return 8;
    case WeightFormat::q2_k:
        return 10;
    case WeightFormat::q3_k:
        return 11;
    case WeightFormat::q4_k:
        return 12;
    case WeightFormat::q5_k:
        return 13;
    case WeightFormat::q6_k:
        return 14;
    case WeightFormat::iq4_nl:
        return 20;
    case WeightFormat::iq4_xs:
        return 23;
    case WeightFormat::bf16:
        return 30;
    case WeightFormat::mxfp4:
        return 39;
    }
    throw std::invalid_argument("no such weight format");
}

uint32_t block_elements(WeightFormat format) {
    if (format == WeightFormat::q8_0)
        return q8_0_block;
    if (format == WeightFormat::mxfp4)
        return 32;
    return holds_any_number(format) ? 1 : scaled_block(format).elements;
}

Bytes encode(const std::vector<float>& values, WeightFormat format) {
    Bytes bytes;
    for (std::size_t i = 0; i < values.size(); i += block_elements(format)) {
        switch (format) {
        case WeightFormat::f32:
            append(bytes, values[i]);
            break;
        case WeightFormat::f16:
            append(bytes, to_half(values[i]));
            break;
        case WeightFormat::bf16:
            append(bytes, to_bfloat16(values[i]));
            break;
        case WeightFormat::q8_0:
            append_q8_0(bytes, &values[i]);
            break;
        default:
            throw std::invalid_argument("numbers cannot be encoded in this weight format");
        }
    }
    return bytes;
}

Bytes random_weights(WeightFormat format, std::size_t elements, double deviation, RandomNumbers& numbers) {
    if (holds_any_number(format)) {
        std::vector<float> values(elements);
        for (float& value : values)
            value = static_cast<float>(numbers.normal() * deviation);
        return encode(values, format);
    }
    Bytes bytes;
    for (std::size_t i = 0; i < elements; i += block_elements(format)) {
        if (format == WeightFormat::mxfp4) {
            append_mxfp4(bytes, deviation, numbers);
        } else {
            append_scaled_block(bytes, scaled_block(format), deviation, numbers);
        }
    }
    return bytes;
}

} // namespace etna::test
