#pragma once

#include "core/grammar/schema/constraints.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>

namespace etna::grammar {

/// Claims that lead to themselves, about the same value. One that is said, and leads to itself, adds nothing:
/// `{"$ref": "#"}`. One that is denied must not: `{"not": {"$ref": "#"}}` would hold where it does not.
/// Source: Tarjan, Depth-first search and linear graph algorithms (1972).
class Circles {
public:
    /// What a claim leads to, one step deep.
    using Followers = std::function<Claims(const Claim&)>;

    /// A negated claim that leads to itself, out of those that `claims` lead to; empty where there is none.
    /// `followers` may ask this in turn, and has to answer the same at all times.
    std::optional<Claim> negated(const Claims& claims, const Followers& followers);

private:
    class Search;

    std::unordered_set<uint64_t> known_; ///< Claim::key() of those that lead to no such circle
};

} // namespace etna::grammar
