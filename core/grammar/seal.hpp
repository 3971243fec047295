#pragma once

#include "core/base/result.hpp"
#include "core/grammar/expressions.hpp"
#include "core/grammar/within.hpp"

#include <cstddef>
#include <vector>

namespace etna::grammar {

/// Completes rules: Language::seal(). Nullability of rules, left recursion, and parts that match no text.
class Sealing {
public:
    Sealing(Expressions& expressions, WithinTexts& within) : expressions_(&expressions), within_(&within) {}

    /// Rewrites everything built since the last call; afterwards rules behave like any other expression.
    Result<Expression> seal(Expression root);

private:
    class Users;
    using Rule = Expressions::Rule;

    void find_nullable(const Users& users);
    [[nodiscard]] std::vector<bool> productive(const Users& users) const;
    [[nodiscard]] std::vector<Expression> first_parts(Expression expression) const;
    [[nodiscard]] const Rule* left_recursive() const;
    Expression without_unproductive(Expression root, const std::vector<bool>& productive);

    Expressions* expressions_; ///< borrowed
    WithinTexts* within_;      ///< borrowed
    std::size_t sealed_rules_ = 0;
    Expression sealed_nodes_ = 0; ///< nullability and productivity are known for all before it
};

} // namespace etna::grammar
