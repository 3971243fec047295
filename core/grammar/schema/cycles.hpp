#pragma once

#include "core/grammar/schema/constraints.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>

namespace etna::grammar {

/// Detects cyclic claims: claims about a value that lead to themselves, about the same value. An asserted
/// claim of this kind adds nothing: `{"$ref": "#"}`. A negated one is an error: `{"not": {"$ref": "#"}}`
/// would hold if it does not. Source: Tarjan, Depth-first search and linear graph algorithms (1972).
class Cycles {
public:
    /// Returns the claims that a claim leads to directly.
    using Followers = std::function<Claims(const Claim&)>;

    /// Returns a negated claim that leads to itself, among those that `claims` lead to; empty if there is
    /// none. `followers` may call this function recursively, and must always return the same result for a
    /// claim.
    std::optional<Claim> negated(const Claims& claims, const Followers& followers);

private:
    class Search;

    std::unordered_set<uint64_t> known_; ///< of claims that lead to no such cycle
};

} // namespace etna::grammar
