// Four bits choose one of 16 levels that lie closer together around zero: d * level, d * s * level.
// Layouts: structs block_iq4_nl and block_iq4_xs of ggml/src/ggml-common.h, levels kvalues_iq4nl there.
#include "tests/reference/decode.hpp"
#include "tests/reference/decode_blocks.hpp"

#include <array>

namespace etna::reference {
namespace {

constexpr std::array<int, 16> levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};
constexpr std::size_t sub_block_elements = 32;
constexpr std::size_t sub_block_bytes = 16;
constexpr std::size_t sub_blocks = 8;

void decode_levels(double scale, const std::byte* bytes, Element* elements) {
    for (std::size_t i = 0; i < sub_block_elements; ++i)
        elements[i] = {scale, double(levels[split_nibble(bytes, i)]), no_offset};
}

} // namespace

// 18 bytes for 32 elements: binary16 d at 0, nibbles at 2.
void decode_iq4_nl(const std::byte* bytes, Element* elements) {
    decode_levels(half_to_double(load<uint16_t>(bytes)), bytes + 2, elements);
}

// 136 bytes for 256 elements: binary16 d at 0; sub-block j's scale s has six bits, stored with 32 added: the
// upper two in bits 2j of the 16-bit word at 2, the lower four in a half of byte j / 2 (low half first) at 4;
// nibbles of each sub-block at 8 + 16 j.
void decode_iq4_xs(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    for (std::size_t j = 0; j < sub_blocks; ++j) {
        const int low = bits_of(bytes + 4 + j / 2, 4 * (j % 2), 4);
        const int high = bits_of(bytes + 2 + j / 4, 2 * (j % 4), 2);
        decode_levels(scale * ((low | high << 4) - 32), bytes + 8 + sub_block_bytes * j,
                      elements + sub_block_elements * j);
    }
}

} // namespace etna::reference
