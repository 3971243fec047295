#pragma once

#include <array>
#include <cstdint>

namespace etna::grammar {

/// A set of bytes.
struct ByteSet {
    std::array<uint64_t, 4> words = {};

    static constexpr ByteSet range(uint8_t first, uint8_t last) {
        ByteSet set;
        for (unsigned byte = first; byte <= last; ++byte)
            set.add(static_cast<uint8_t>(byte));
        return set;
    }
    static constexpr ByteSet one(uint8_t byte) { return range(byte, byte); }

    constexpr void add(uint8_t byte) { words[byte / 64] |= uint64_t{1} << (byte % 64); }
    [[nodiscard]] constexpr bool contains(uint8_t byte) const {
        return ((words[byte / 64] >> (byte % 64)) & 1) != 0;
    }
    [[nodiscard]] constexpr bool is_empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
    constexpr ByteSet& operator|=(const ByteSet& other) {
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] |= other.words[i];
        return *this;
    }
    [[nodiscard]] constexpr ByteSet complement() const {
        ByteSet others;
        for (std::size_t i = 0; i < words.size(); ++i)
            others.words[i] = ~words[i];
        return others;
    }
    bool operator==(const ByteSet&) const = default;
};

} // namespace etna::grammar
