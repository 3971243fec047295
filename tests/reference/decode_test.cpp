#include "tests/reference/decode.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace etna;
using namespace etna::reference;

namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("binary16 decodes the examples of IEEE 754") {
    CHECK(half_to_double(0x0000) == 0.0);
    CHECK(std::signbit(half_to_double(0x8000)));
    CHECK(half_to_double(0x3C00) == 1.0);
    CHECK(half_to_double(0xC000) == -2.0);
    CHECK(half_to_double(0x3555) == 1365.0 / 4096.0); // the nearest to one third
    CHECK(half_to_double(0x7BFF) == 65504.0);
    CHECK(half_to_double(0x0400) == std::ldexp(1.0, -14));    // smallest normal
    CHECK(half_to_double(0x03FF) == std::ldexp(1023.0, -24)); // largest subnormal
    CHECK(half_to_double(0x0001) == std::ldexp(1.0, -24));    // smallest subnormal
    CHECK(half_to_double(0x7C00) == infinity);
    CHECK(half_to_double(0xFC00) == -infinity);
    CHECK(std::isnan(half_to_double(0x7C01)));
    CHECK(std::isnan(half_to_double(0xFFFF)));
}

TEST_CASE("all 65536 binary16 values survive a round trip") {
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const double value = half_to_double(static_cast<uint16_t>(bits));
        const uint16_t again = double_to_half(value);
        CAPTURE(bits, value, again);
        REQUIRE((std::isnan(value) ? std::isnan(half_to_double(again)) : again == bits));
    }
}

TEST_CASE(
    "the midpoint of two adjacent binary16 values rounds to the even one, other values to the nearest") {
    for (uint16_t bits = 0; bits < 0x7BFF; ++bits) {
        const double below = half_to_double(bits);
        const double above = half_to_double(static_cast<uint16_t>(bits + 1));
        const double middle = (below + above) / 2;
        CAPTURE(bits, middle);
        REQUIRE(double_to_half(middle) == bits + bits % 2);
        REQUIRE(double_to_half(std::nextafter(middle, 0.0)) == bits);
        REQUIRE(double_to_half(std::nextafter(middle, infinity)) == bits + 1);
        REQUIRE(double_to_half(-middle) == (0x8000 | (bits + bits % 2)));
    }
}

TEST_CASE("binary16 overflows to infinity from the middle above its largest number") {
    CHECK(double_to_half(std::nextafter(65520.0, 0.0)) == 0x7BFF);
    CHECK(double_to_half(65520.0) == 0x7C00);
    CHECK(double_to_half(-1e300) == 0xFC00);
    CHECK(double_to_half(infinity) == 0x7C00);
    CHECK(double_to_half(std::ldexp(1.0, -25)) == 0x0000); // half the smallest subnormal: ties to even, zero
    CHECK(double_to_half(-1e-300) == 0x8000);
    CHECK(round_to_half(1.0 / 3.0) == 1365.0 / 4096.0);
}

TEST_CASE("bfloat16 is the upper half of a binary32, rounded to even") {
    CHECK(bfloat16_to_double(0x3F80) == 1.0);
    CHECK(bfloat16_to_double(0xC040) == -3.0);
    CHECK(bfloat16_to_double(0x7F80) == infinity);
    CHECK(double_to_bfloat16(1.0 + std::ldexp(1.0, -8)) == 0x3F80);        // a tie, down to even
    CHECK(double_to_bfloat16(1.0 + 3 * std::ldexp(1.0, -8)) == 0x3F82);    // a tie, up to even
    CHECK(double_to_bfloat16(1.0 + 1.01 * std::ldexp(1.0, -8)) == 0x3F81); // beyond the tie
    CHECK(double_to_bfloat16(std::numeric_limits<float>::max()) == 0x7F80);
    CHECK(std::isnan(bfloat16_to_double(double_to_bfloat16(std::numeric_limits<double>::quiet_NaN()))));
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const double value = bfloat16_to_double(static_cast<uint16_t>(bits));
        CAPTURE(bits, value);
        if (!std::isnan(value))
            REQUIRE(double_to_bfloat16(value) == bits);
    }
}

TEST_CASE("rows of F32, F16 and BF16 decode element by element") {
    CHECK(decode_row(gguf::TensorType::f32, bytes_of<float>({1.5F, -0.25F}), 2) == std::vector{1.5, -0.25});
    CHECK(decode_row(gguf::TensorType::f16, bytes_of<uint16_t>({0x3C00, 0xC000, 0x0001}), 3) ==
          std::vector{1.0, -2.0, std::ldexp(1.0, -24)});
    CHECK(decode_row(gguf::TensorType::bf16, bytes_of<uint16_t>({0x3F80, 0xC040}), 2) ==
          std::vector{1.0, -3.0});
}

TEST_CASE("a Q8_0 row is blocks of a binary16 scale and 32 signed bytes") {
    std::vector<std::byte> bytes(68);
    bytes[1] = std::byte{0x38}; // 0x3800 = 0.5
    bytes[34] = std::byte{0x00};
    bytes[35] = std::byte{0xC0}; // 0xC000 = -2
    for (int i = 0; i < 32; ++i) {
        bytes[2 + i] = static_cast<std::byte>(i - 16);
        bytes[36 + i] = static_cast<std::byte>(i == 0 ? -128 : 127 - i);
    }
    const auto values = decode_row(gguf::TensorType::q8_0, bytes, 64);
    REQUIRE(values.size() == 64);
    for (int i = 0; i < 32; ++i) {
        CAPTURE(i);
        CHECK(values[i] == 0.5 * (i - 16));
        CHECK(values[32 + i] == (i == 0 ? 256.0 : -2.0 * (127 - i)));
    }
}

TEST_CASE("a matrix decodes row by row") {
    const auto bytes = bytes_of<float>({1, 2, 3, 4, 5, 6});
    const gguf::Tensor tensor{
        .name = "m", .type = gguf::TensorType::f32, .shape = {3, 2, 1, 1}, .dimensions = 2};
    const Matrix matrix = decode_matrix(tensor, bytes);
    CHECK(matrix.rows == 2);
    CHECK(matrix.columns == 3);
    CHECK(std::vector(matrix.row(1).begin(), matrix.row(1).end()) == std::vector<double>{4, 5, 6});
}

TEST_CASE("types without a decoder are refused") {
    CHECK(can_decode(gguf::TensorType::q8_0));
    CHECK_FALSE(can_decode(std::bit_cast<gguf::TensorType>(uint32_t{9}))); // Q8_1, which no file holds
}
