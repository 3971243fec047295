#pragma once

#include "core/base/result.hpp"
#include "core/grammar/automaton.hpp"
#include "core/grammar/expressions.hpp"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etna::grammar {

class CountedTexts;
class DistinctLists;
class WithinTexts;

/// Derivatives of expressions by a byte, cached, and the automata whose states are derivatives. A part of
/// Language, which documents the functions of the same name.
class Derivatives {
public:
    /// Borrows the others, which may be constructed later.
    Derivatives(Expressions& expressions, CountedTexts& counted, DistinctLists& distinct, WithinTexts& within)
        : expressions_(&expressions), counted_(&counted), distinct_(&distinct), within_(&within) {}

    Expression next(Expression from, uint8_t byte);
    Expression next(Expression from, std::string_view text);

    Result<Automaton> automaton(Expression regular);
    Result<Automaton> both(const Automaton& a, const Automaton& b);
    Result<Automaton> all_but(const Automaton& excluded);

    /// Whether next() skipped an expression for its depth, so that a result within derive() is incomplete.
    [[nodiscard]] bool is_incomplete() const { return too_deep_ != nothing; }

    /// Forgets the recursion depth, after an exception escaped from next().
    void reset_depth() { depth_ = 0; }

private:
    Expression find_next(Expression from, uint8_t byte);
    Expression derive(Expression from, uint8_t byte);
    Expression derive_sequence(Expression from, uint8_t byte);
    Expression derive_either(Expression from, uint8_t byte);
    /// A superset of the bytes that its texts may begin with: the search is bounded.
    ByteSet first_of(Expression expression);
    ByteSet first_of(Expression expression, int& visits) const;
    /// The same for an `either` of many alternatives; cached.
    const ByteSet& first_of_alternatives(Expression many);
    [[nodiscard]] std::vector<ByteSet> byte_sets(Expression regular) const;

    Expressions* expressions_; ///< borrowed, as the next three
    CountedTexts* counted_;    ///< nodes of Kind::counted
    DistinctLists* distinct_;  ///< nodes of Kind::distinct
    WithinTexts* within_;      ///< nodes of Kind::within
    std::unordered_map<Expression, ByteSet> first_of_alternatives_;
    uint32_t depth_ = 0;            ///< current recursion depth of derive()
    Expression too_deep_ = nothing; ///< expression that derive() skipped for its depth; see next()
};

} // namespace etna::grammar
