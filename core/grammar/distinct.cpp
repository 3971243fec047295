#include "core/grammar/distinct.hpp"

#include "core/grammar/derivatives.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

constexpr uint64_t steps_of_text_set = 10;

} // namespace

Result<Expression> DistinctLists::distinct(Expression item, Expression comma, uint32_t min, uint32_t max) {
    if (min > items_max) {
        return Error{ErrorKind::unsupported,
                     fmt::format("more than {} distinct items cannot be enforced", items_max),
                     "make `minItems` smaller"};
    }
    const auto* const items = few_strings(item);
    if (min > max || (items != nullptr && items->size() < min))
        return nothing;
    lists_.push_back({.item = item, .comma = comma, .min = min, .max = std::min(max, items_max)});
    return rest_after_items(static_cast<uint32_t>(lists_.size() - 1), TextSets::empty_set);
}

/// The rest of the list after these items.
Expression DistinctLists::rest_after_items(uint32_t number, uint32_t items) {
    const List list = lists_[number];
    const uint32_t count = text_sets_.size(items);
    const Expression more = count < list.max ? add(number, items, TextSets::empty_text, list.item) : nothing;
    return expressions_->either(expressions_->sequence(count > 0 ? list.comma : empty, more),
                                count >= list.min ? empty : nothing);
}

/// The rest `left` of an item after a text, then the rest of the list; `nothing` if only used items are left.
Expression DistinctLists::add(uint32_t number, uint32_t items, uint32_t text, Expression left) {
    expressions_->charge_steps(steps_of_text_set + text_sets_.size(items));
    if (left == nothing)
        return nothing;
    const std::vector<std::string> used = text_sets_.rests(items, text);
    if (!used.empty()) {
        const auto* const all = few_strings(left);
        const auto is_used = [&](const std::string& one) {
            return std::find(used.begin(), used.end(), one) != used.end();
        };
        if (all != nullptr && std::all_of(all->begin(), all->end(), is_used))
            return nothing;
    }
    const bool may_end = !text_sets_.has(items, text) && text_sets_.size(items) + 1 >= lists_[number].min;
    return expressions_->add(
        {.kind = Kind::distinct, .children = {left}, .min = text, .index = number, .state = items},
        may_end ? expressions_->nullable(left) : Nullable::no);
}

Expression DistinctLists::derive(const Node& node, uint8_t byte) {
    const Expression left = node.children[0];
    const std::size_t bytes_before = text_sets_.bytes();
    Expression through = nothing;
    if (const Expression after = derivatives_->next(left, byte); after != nothing)
        through = add(node.index, node.state, text_sets_.longer(node.min, byte), after);
    if (expressions_->is_nullable(left) && !text_sets_.has(node.state, node.min)) {
        const Expression rest = rest_after_items(node.index, text_sets_.with(node.state, node.min));
        through = expressions_->either(through, derivatives_->next(rest, byte));
    }
    expressions_->charge_bytes(text_sets_.bytes() - bytes_before);
    return through;
}

/// Breadth first: every rest can end, so there are at least as many strings as open alternatives.
const std::vector<std::string>* DistinctLists::few_strings(Expression regular) {
    if (const auto known = few_strings_.find(regular); known != few_strings_.end())
        return known->second ? &*known->second : nullptr;
    std::optional<std::vector<std::string>> all(std::in_place);
    std::vector<std::pair<std::string, Expression>> alternatives = {{"", regular}};
    while (!alternatives.empty() && all && !expressions_->is_spent()) {
        std::vector<std::pair<std::string, Expression>> longer;
        for (const auto& [text, left] : alternatives) {
            if (expressions_->is_nullable(left))
                all->push_back(text);
            for (uint32_t byte = 0; byte < 256 && longer.size() <= items_max; ++byte) {
                if (const Expression after = derivatives_->next(left, static_cast<uint8_t>(byte));
                    after != nothing)
                    longer.emplace_back(text + static_cast<char>(byte), after);
            }
        }
        expressions_->charge_steps(256 * alternatives.size());
        if (all->size() + longer.size() > items_max)
            all.reset();
        alternatives = std::move(longer);
    }
    // Then results of next() may be incomplete, and are not cached.
    if (expressions_->is_spent() || derivatives_->is_incomplete())
        return nullptr;
    const auto entry = few_strings_.emplace(regular, std::move(all)).first;
    expressions_->charge_bytes(sizeof(*entry) + 32);
    return entry->second ? &*entry->second : nullptr;
}

Expression DistinctLists::allowing_repeats(Expression distinct) {
    const Node node = expressions_->node(distinct);
    const List list = lists_[node.index];
    const uint32_t count = text_sets_.size(node.state) + 1;
    const Expression more = expressions_->repeat(expressions_->sequence(list.comma, list.item),
                                                 list.min - std::min(list.min, count), list.max - count);
    return expressions_->sequence(node.children[0], more);
}

std::vector<std::string> DistinctLists::used_items(Expression distinct) const {
    const Node& node = expressions_->node(distinct);
    return text_sets_.rests(node.state, node.min);
}

bool DistinctLists::has_few_items(Expression distinct) {
    return few_strings(lists_[expressions_->node(distinct).index].item) != nullptr;
}

bool DistinctLists::may_have_next_item(Expression distinct, std::string_view bytes) {
    const Node node = expressions_->node(distinct);
    const List list = lists_[node.index];
    Expression left = expressions_->sequence(std::array{node.children[0], list.comma, list.item});
    for (const char byte : bytes) {
        left = derivatives_->next(left, static_cast<uint8_t>(byte));
        if (left == nothing || expressions_->is_nullable(left))
            return left != nothing;
    }
    return few_strings(left) != nullptr;
}

} // namespace etna::grammar
