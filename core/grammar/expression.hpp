#pragma once

#include "core/grammar/byte_set.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace etna::grammar {

/// A set of byte strings, by its number in a Language. Equal numbers are equal sets; equal sets may have
/// different numbers.
using Expression = uint32_t;

constexpr Expression nothing = 0; ///< the set of no strings
constexpr Expression empty = 1;   ///< the set of the empty string

/// Without an upper bound.
constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

enum class Kind : uint8_t {
    no_string,    ///< `nothing`
    empty_string, ///< `empty`
    bytes,        ///< one byte out of a set
    sequence,     ///< the first child, then the second; the first is no sequence
    either,       ///< any of the children: two or more, ascending, none an `either`
    repeat,       ///< the child, `least` to `most` times
    unit,         ///< the child, kept together at the head of sequences (see Masks)
    automaton,    ///< what is accepted from `state` of an automaton
    counted,      ///< what is accepted from `state` of an automaton and has `least` to `most` characters
    within,       ///< what of the child an automaton accepts from `state` on
    distinct,     ///< what is left of an item in a list of different ones, and the list behind it
    rule,         ///< what the rule is defined as: the way to recursion
};

/// What an expression is made of. Which members count depends on `kind`; the others are zero.
struct Node {
    Kind kind = Kind::no_string;
    ByteSet set = {};                      ///< bytes
    std::vector<Expression> children = {}; ///< sequence, either, repeat, unit, within, distinct
    uint32_t least = 0;                    ///< repeat, counted; distinct: what has come of the item
    uint32_t most = 0;                     ///< repeat, counted; `unbounded` for no limit
    uint32_t index = 0;                    ///< automaton, counted, within, distinct, rule
    uint32_t state = 0;                    ///< automaton, counted, within; distinct: the items so far

    bool operator==(const Node&) const = default;
};

} // namespace etna::grammar
