#pragma once

#include "core/base/result.hpp"
#include "core/grammar/automaton.hpp"
#include "core/grammar/expressions.hpp"
#include "core/grammar/lengths.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace etna::grammar {

/// Expressions of Kind::counted: strings of an automaton with a bounded number of characters. The count is
/// stored next to the automaton's state: encoded as states, it would need one for each pair of state and
/// count. A part of Language, which documents the functions of the same name.
class CountedTexts {
public:
    explicit CountedTexts(Expressions& expressions) : expressions_(&expressions) {}

    Result<Expression> counted(const Automaton& automaton, const Automaton& characters, uint32_t min,
                               uint32_t max);
    Expression with_small_counts(Expression expression, uint32_t bytes);

    /// The strings that may follow `byte` in those of a node of Kind::counted.
    Expression derive(const Node& node, uint8_t byte);

    /// The automaton of a node of Kind::counted.
    [[nodiscard]] const Automaton& automaton_of(const Node& node) const {
        return expressions_->automaton_at(counts_[node.index].automaton);
    }

private:
    /// An automaton with the states at which characters begin, and its possible character counts.
    struct Counts {
        std::pair<uint32_t, uint32_t> factors; ///< numbers of the two automata it is the product of
        uint32_t automaton = 0;                ///< number of the product
        std::vector<bool> begins = {};         ///< [state]
        std::optional<Lengths> lengths = {};
    };

    Expression add(uint32_t number, uint32_t state, uint32_t min, uint32_t max);

    Expressions* expressions_;   ///< borrowed
    std::vector<Counts> counts_; ///< by Node::index
};

} // namespace etna::grammar
