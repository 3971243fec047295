#pragma once

#include "core/grammar/schema/cycles.hpp"
#include "core/grammar/schema/keywords.hpp"

#include <map>
#include <vector>

namespace etna::grammar {

/// Expands claims about a value into alternatives (a disjunctive normal form): the constraints of each
/// contain no claim about the value itself, only claims about its items and members.
///
/// Not thread-safe. Borrows the document.
class Expansion {
public:
    /// `dropped`: as KeywordContext::dropped.
    Expansion(const SchemaDocument& document, DroppedKeywords* dropped);
    Expansion(const Expansion&) = delete;
    Expansion& operator=(const Expansion&) = delete;

    /// Empty if no value can satisfy the claims. Errors: as choices_of(), and unsupported (a negated claim
    /// that leads to itself; more than alternatives_max alternatives, choices_max simultaneous choices,
    /// bytes_max bytes at a time, or steps_max steps in all).
    Result<std::vector<Constraints>> alternatives(const Claims& claims);

    static constexpr std::size_t alternatives_max = 2000;
    static constexpr std::size_t choices_max = 1000;
    static constexpr std::size_t bytes_max = std::size_t{48} << 20;
    static constexpr std::size_t steps_max = 8'000'000; ///< of about 50 ns

private:
    class Search;

    Result<const Choices*> choices(const Claim& claim);
    Claims followers(const Claim& claim);
    Status check_cycles(const Claims& claims);
    Status charge_steps(std::size_t count);
    bool is_impossible(const Claims& claims);
    bool is_impossible(const Constraints& alternative);
    bool is_impossible(const Constraints& settled, const Claim& claim);
    bool has_impossible_member(const ObjectConstraints& object);
    bool has_impossible_item(const ArrayConstraints& array);

    KeywordContext context_;
    std::map<Claim, Choices> choices_;
    std::map<Claims, bool> impossible_; ///< known results; false while being computed
    Cycles cycles_;
    std::size_t steps_ = 0;
    std::size_t bytes_ = 0; ///< of constraints that searches hold
    int depth_ = 0;         ///< recursion depth of is_impossible()
};

/// Sorts claims and removes duplicates and claims that any value satisfies.
Claims sorted(Claims claims);

/// The claims on the item at a position.
Claims claims_on_item(const ArrayConstraints& array, std::size_t position);

} // namespace etna::grammar
