// The quantised formats against ggml's own decoders (tests/data/formats), and what ggml cannot show.
#include "tests/reference/decode.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/tensor_content.hpp"

#include <bit>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::reference;

namespace {

constexpr gguf::TensorType quantised[] = {
    gguf::TensorType::q4_0,  gguf::TensorType::q4_1, gguf::TensorType::q5_0,   gguf::TensorType::q5_1,
    gguf::TensorType::q8_0,  gguf::TensorType::q2_k, gguf::TensorType::q3_k,   gguf::TensorType::q4_k,
    gguf::TensorType::q5_k,  gguf::TensorType::q6_k, gguf::TensorType::iq4_nl, gguf::TensorType::iq4_xs,
    gguf::TensorType::mxfp4,
};

std::string lower(std::string_view name) {
    std::string result(name);
    for (char& c : result)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

void put_half(std::vector<std::byte>& bytes, std::size_t offset, uint16_t half) {
    bytes[offset] = static_cast<std::byte>(half & 0xFF);
    bytes[offset + 1] = static_cast<std::byte>(half >> 8);
}

constexpr uint16_t smallest_half = 0x0001; // 2^-24
constexpr uint16_t largest_half = 0x7BFF;  // 65504

} // namespace

TEST_CASE("every quantised format decodes random blocks to the same bits as ggml") {
    const auto file = gguf::File::open(std::string(ETNA_TEST_DATA) + "/formats/blocks.gguf");
    REQUIRE(file.has_value());
    REQUIRE(file->tensors().size() == 2 * std::size(quantised));
    for (const gguf::TensorType type : quantised) {
        const std::string name = lower(gguf::describe(type)->name);
        CAPTURE(name);
        const gguf::Tensor* row = file->find_tensor(name);
        const gguf::Tensor* expected_row = file->find_tensor(name + ".expected");
        REQUIRE(row != nullptr);
        REQUIRE(row->type == type);
        REQUIRE(expected_row != nullptr);
        REQUIRE(expected_row->type == gguf::TensorType::f32);
        const auto values = decode_matrix(*row, test::tensor_content(*file, *row)).values;
        const auto expected = decode_matrix(*expected_row, test::tensor_content(*file, *expected_row)).values;
        REQUIRE(values.size() == 1536);
        REQUIRE(expected.size() == values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            CAPTURE(i, values[i], expected[i]);
            REQUIRE(std::bit_cast<uint32_t>(static_cast<float>(values[i])) ==
                    std::bit_cast<uint32_t>(static_cast<float>(expected[i])));
        }
    }
}

TEST_CASE("sums that float would round stay exact") {
    std::vector<std::byte> q4_1(20);
    put_half(q4_1, 0, smallest_half);
    put_half(q4_1, 2, largest_half);
    q4_1[4] = std::byte{0xF1}; // elements 0 and 16
    const auto values = decode_row(gguf::TensorType::q4_1, q4_1, 32);
    CHECK(values[0] == 65504.0 + std::ldexp(1.0, -24));
    CHECK(values[1] == 65504.0);
    CHECK(values[16] == 65504.0 + std::ldexp(15.0, -24));

    std::vector<std::byte> q5_k(176);
    put_half(q5_k, 0, smallest_half);
    put_half(q5_k, 2, largest_half);
    q5_k[4 + 2] = std::byte{63};     // scale of sub-block 2
    q5_k[4 + 6] = std::byte{62};     // its minimum
    q5_k[16 + 5] = std::byte{0x04};  // fifth bit of its element 5
    q5_k[48 + 37] = std::byte{0x0F}; // the lower four
    CHECK(decode_row(gguf::TensorType::q5_k, q5_k, 256)[64 + 5] ==
          std::ldexp(63.0 * 31.0, -24) - 65504.0 * 62.0);
}

TEST_CASE("MXFP4 beyond the range of float is finite in double") {
    std::vector<std::byte> bytes(17);
    bytes[0] = std::byte{254};
    bytes[1] = std::byte{0x7F}; // elements 0 and 16: -6 and 6
    const auto values = decode_row(gguf::TensorType::mxfp4, bytes, 32);
    CHECK(values[0] == -6 * std::ldexp(1.0, 127));
    CHECK(values[16] == 6 * std::ldexp(1.0, 127));
    CHECK(std::isinf(round_to_float(values[16])));
}
