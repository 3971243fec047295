#pragma once

#include "core/base/result.hpp"
#include "core/grammar/expressions.hpp"
#include "core/grammar/text_sets.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etna::grammar {

class Derivatives;

/// Expressions of Kind::distinct: lists of distinct items. The rest of a list records the previous items and
/// the text of the current one. Code that examines many texts at once, such as masks, ignores these, and
/// checks again the few texts for which they matter. A part of Language, which documents the functions of the
/// same name.
class DistinctLists {
public:
    static constexpr uint32_t items_max = 64;

    DistinctLists(Expressions& expressions, Derivatives& derivatives)
        : expressions_(&expressions), derivatives_(&derivatives) {}

    Result<Expression> distinct(Expression item, Expression comma, uint32_t min, uint32_t max);
    Expression allowing_repeats(Expression distinct);
    [[nodiscard]] std::vector<std::string> used_items(Expression distinct) const;
    bool may_have_next_item(Expression distinct, std::string_view bytes);
    bool has_few_items(Expression distinct);

    /// The strings that may follow `byte` in those of a node of Kind::distinct.
    Expression derive(const Node& node, uint8_t byte);

private:
    struct List {
        Expression item = 0;
        Expression comma = 0;
        uint32_t min = 0;
        uint32_t max = 0;
    };

    Expression rest_after_items(uint32_t number, uint32_t items);
    Expression add(uint32_t number, uint32_t items, uint32_t text, Expression left);
    /// All strings of an expression without rules; null if there are more than items_max.
    const std::vector<std::string>* few_strings(Expression regular);

    Expressions* expressions_; ///< borrowed
    Derivatives* derivatives_; ///< borrowed
    std::vector<List> lists_;  ///< by Node::index
    TextSets text_sets_;       ///< texts of items
    std::unordered_map<Expression, std::optional<std::vector<std::string>>> few_strings_;
};

} // namespace etna::grammar
