#pragma once

#include <cstddef>
#include <cstring>

// The stored blocks of each element format, one function per format, in one file per family.
namespace etna::reference {

/// Changes no element, not even a negative zero.
constexpr double no_offset = -0.0;

/// An element as its format has it: scale x code + offset, all three exact.
struct Element {
    double scale = 1;
    double code = 0;
    double offset = no_offset;
};

/// Turns one block at `bytes` (no alignment) into its elements. Blocks are little endian.
using DecodeBlock = void(const std::byte* bytes, Element* elements);

// decode_plain.cpp: one element
DecodeBlock decode_f32;
DecodeBlock decode_f16;
DecodeBlock decode_bf16;

// decode_legacy.cpp: 32 elements, one scale
DecodeBlock decode_q4_0;
DecodeBlock decode_q4_1;
DecodeBlock decode_q5_0;
DecodeBlock decode_q5_1;
DecodeBlock decode_q8_0;

// decode_k.cpp: 256 elements in sub-blocks with separate scales
DecodeBlock decode_q2_k;
DecodeBlock decode_q3_k;
DecodeBlock decode_q4_k;
DecodeBlock decode_q5_k;
DecodeBlock decode_q6_k;

// decode_iq4.cpp: 4 bits that name an entry of a table
DecodeBlock decode_iq4_nl;
DecodeBlock decode_iq4_xs;

// decode_mxfp4.cpp
DecodeBlock decode_mxfp4;

/// A number as stored in the file.
template <class T>
T load(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

/// `count` bits of the byte at `bytes`, from bit `first` (0 is the least significant).
inline int bits_of(const std::byte* bytes, unsigned first, unsigned count) {
    return static_cast<int>((std::to_integer<unsigned>(*bytes) >> first) & ((1U << count) - 1U));
}

/// Element `index` of 32 four-bit elements in 16 bytes: the low halves of all bytes come first, then the high
/// halves. Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, IQ4_XS (per sub-block) and MXFP4 are stored like this.
inline int split_nibble(const std::byte* bytes, std::size_t index) {
    return bits_of(bytes + index % 16, index < 16 ? 0 : 4, 4);
}

} // namespace etna::reference
