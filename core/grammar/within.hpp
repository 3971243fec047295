#pragma once

#include "core/base/result.hpp"
#include "core/grammar/automaton.hpp"
#include "core/grammar/expressions.hpp"
#include "core/grammar/paths.hpp"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace etna::grammar {

class Derivatives;

/// Expressions of Kind::within: the strings of an expression that an automaton accepts as well. Source:
/// Bar-Hillel, Perles, Shamir, On formal properties of simple phrase structure grammars (1961), for testing
/// whether the rest is empty. A part of Language, which documents within().
class WithinTexts {
public:
    WithinTexts(Expressions& expressions, Derivatives& derivatives)
        : expressions_(&expressions), derivatives_(&derivatives) {}

    Result<Expression> within(Expression content, const Automaton& automaton);

    /// The strings that may follow `byte` in those of a node of Kind::within.
    Expression derive(const Node& node, uint8_t byte);

    /// Finds the paths of the texts of a new node of Kind::within, whose rules are defined. The expressions
    /// are full if memory is short.
    void find_paths(const Node& node);

    /// Whether a node of Kind::within matches some text. Precondition: find_paths() was called for it.
    [[nodiscard]] bool is_productive(const Node& node) const;

private:
    /// The paths of expressions in one automaton.
    struct PathsOf {
        Paths::States accepting = {};
        std::unordered_map<Expression, Paths> known = {};
    };

    [[nodiscard]] bool leads_to_end(const Paths& paths, uint32_t automaton, uint32_t state) const;
    [[nodiscard]] Paths paths_by_parts(Expression expression, uint32_t automaton) const;
    const Paths& paths(Expression expression, uint32_t automaton);
    [[nodiscard]] std::vector<Expression> without_paths(Expression expression, uint32_t automaton) const;

    Expressions* expressions_;          ///< borrowed
    Derivatives* derivatives_;          ///< borrowed
    std::map<uint32_t, PathsOf> paths_; ///< by the number of an automaton
};

} // namespace etna::grammar
