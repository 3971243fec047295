#pragma once

#include "core/grammar/byte_set.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace etna::grammar {

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
    repeat,       ///< the child, `least` to `most` times
    unit,         ///< the child, treated as one unit at the head of sequences (see Masks)
    automaton,    ///< the strings that an automaton accepts from `state`
    counted,      ///< the same, restricted to `least` to `most` characters
    within,       ///< the strings of the child that an automaton accepts from `state`
    distinct,     ///< the rest of an item in a list of distinct items, and the list after it
    rule,         ///< the definition of a rule; allows recursion
};

/// The structure of an expression. `kind` decides which members are used; the others are zero.
struct Node {
    Kind kind = Kind::no_string;
    ByteSet set = {};                      ///< bytes
    std::vector<Expression> children = {}; ///< sequence, either, repeat, unit, within, distinct
    uint32_t least = 0;                    ///< repeat, counted; distinct: the item's text so far
    uint32_t most = 0;                     ///< repeat, counted; `unbounded` for no limit
    uint32_t index = 0;                    ///< automaton, counted, within, distinct, rule
    uint32_t state = 0;                    ///< automaton, counted, within; distinct: the set of items so far

    bool operator==(const Node&) const = default;
};

} // namespace etna::grammar
