#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

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

/// A set of byte strings: its number in a Language. Equal numbers are equal sets; equal sets may have
/// different numbers.
using Expression = uint32_t;

constexpr Expression nothing = 0; ///< the set of no strings
constexpr Expression empty = 1;   ///< the set of the empty string

/// No upper bound.
constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

enum class Kind : uint8_t {
    no_string,    ///< `nothing`
    empty_string, ///< `empty`
    bytes,        ///< one byte out of a set
    sequence,     ///< the first child, then the second; the first is not a sequence
    either,       ///< any of the children: two or more, ascending, none an `either`
    repeat,       ///< the child, `min` to `max` times
    unit,         ///< the child, treated as one unit at the head of sequences (see Masks)
    automaton,    ///< the strings that an automaton accepts from `state`
    counted,      ///< the same, restricted to `min` to `max` characters
    within,       ///< the strings of the child that an automaton accepts from `state`
    distinct,     ///< the rest of an item in a list of distinct items, and the list after it
    rule,         ///< the definition of a rule; allows recursion
};

/// The structure of an expression. `kind` decides which members are used; the others are zero.
struct Node {
    Kind kind = Kind::no_string;
    ByteSet set = {};                      ///< bytes
    std::vector<Expression> children = {}; ///< sequence, either, repeat, unit, within, distinct
    uint32_t min = 0;                      ///< repeat, counted; distinct: the prefix of the current item
    uint32_t max = 0;                      ///< repeat, counted; `unbounded` for no limit
    uint32_t index = 0;                    ///< automaton, counted, within, distinct, rule
    uint32_t state = 0; ///< automaton, counted, within; distinct: the set of previous items

    bool operator==(const Node&) const = default;
};

} // namespace etna::grammar
