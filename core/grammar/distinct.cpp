#include "core/grammar/language.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

/// Lists of distinct items: the rest of a list records the previous items and the text of the current one.
/// Code that examines many texts at once, such as masks, ignores these, and checks again the few texts for
/// which they matter.
namespace etna::grammar {
namespace {

constexpr uint64_t steps_of_text_set = 10;

} // namespace

Result<Expression> Language::distinct(Expression item, Expression comma, uint32_t min, uint32_t max) {
    if (min > distinct_max) {
        return Error{ErrorKind::unsupported,
                     fmt::format("more than {} distinct items cannot be enforced", distinct_max),
                     "make `minItems` smaller"};
    }
    const auto* const items = few_strings(item);
    if (min > max || (items != nullptr && items->size() < min))
        return nothing;
    lists_.push_back({.item = item, .comma = comma, .min = min, .max = std::min(max, distinct_max)});
    return rest_after_items(static_cast<uint32_t>(lists_.size() - 1), TextSets::empty_set);
}

/// The rest of the list after these items.
Expression Language::rest_after_items(uint32_t number, uint32_t items) {
    const List list = lists_[number];
    const uint32_t count = text_sets_.size(items);
    const Expression more =
        count < list.max ? add_distinct(number, items, TextSets::empty_text, list.item) : nothing;
    return either(sequence(count > 0 ? list.comma : empty, more), count >= list.min ? empty : nothing);
}

/// The rest `left` of an item after a text, then the rest of the list; `nothing` if only used items are left.
Expression Language::add_distinct(uint32_t number, uint32_t items, uint32_t text, Expression left) {
    charge_steps(steps_of_text_set + text_sets_.size(items));
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
    return add({.kind = Kind::distinct, .children = {left}, .min = text, .index = number, .state = items});
}

Expression Language::derive_distinct(const Node& node, uint8_t byte) {
    const Expression left = node.children[0];
    const std::size_t bytes_before = text_sets_.bytes();
    Expression through = nothing;
    if (const Expression after = next(left, byte); after != nothing)
        through = add_distinct(node.index, node.state, text_sets_.longer(node.min, byte), after);
    if (is_nullable(left) && !text_sets_.has(node.state, node.min)) {
        const Expression rest = rest_after_items(node.index, text_sets_.with(node.state, node.min));
        through = either(through, next(rest, byte));
    }
    bytes_ += text_sets_.bytes() - bytes_before;
    return through;
}

Language::Nullable Language::nullable_of_distinct(const Node& node) const {
    if (text_sets_.has(node.state, node.min) || text_sets_.size(node.state) + 1 < lists_[node.index].min)
        return Nullable::no;
    return nullable_[node.children[0]];
}

/// Breadth first: every rest can end, so there are at least as many strings as open alternatives.
const std::vector<std::string>* Language::few_strings(Expression regular) {
    if (const auto known = few_strings_.find(regular); known != few_strings_.end())
        return known->second ? &*known->second : nullptr;
    std::optional<std::vector<std::string>> all(std::in_place);
    std::vector<std::pair<std::string, Expression>> alternatives = {{"", regular}};
    while (!alternatives.empty() && all && !is_spent()) {
        std::vector<std::pair<std::string, Expression>> longer;
        for (const auto& [text, left] : alternatives) {
            if (is_nullable(left))
                all->push_back(text);
            for (uint32_t byte = 0; byte < 256 && longer.size() <= distinct_max; ++byte) {
                if (const Expression after = next(left, static_cast<uint8_t>(byte)); after != nothing)
                    longer.emplace_back(text + static_cast<char>(byte), after);
            }
        }
        charge_steps(256 * alternatives.size());
        if (all->size() + longer.size() > distinct_max)
            all.reset();
        alternatives = std::move(longer);
    }
    if (is_spent() || too_deep_ != nothing) // results of next() may be incomplete
        return nullptr;
    const auto entry = few_strings_.emplace(regular, std::move(all)).first;
    bytes_ += sizeof(*entry) + 32;
    return entry->second ? &*entry->second : nullptr;
}

Expression Language::allowing_repeats(Expression distinct) {
    const Node node = nodes_[distinct];
    const List list = lists_[node.index];
    const uint32_t count = text_sets_.size(node.state) + 1;
    const Expression more =
        repeat(sequence(list.comma, list.item), list.min - std::min(list.min, count), list.max - count);
    return sequence(node.children[0], more);
}

std::vector<std::string> Language::used_items(Expression distinct) const {
    const Node& node = nodes_[distinct];
    return text_sets_.rests(node.state, node.min);
}

bool Language::has_few_items(Expression distinct) {
    return few_strings(lists_[nodes_[distinct].index].item) != nullptr;
}

bool Language::may_have_next_item(Expression distinct, std::string_view bytes) {
    const Node node = nodes_[distinct];
    const List list = lists_[node.index];
    Expression left = sequence(std::array{node.children[0], list.comma, list.item});
    for (const char byte : bytes) {
        left = next(left, static_cast<uint8_t>(byte));
        if (left == nothing || is_nullable(left))
            return left != nothing;
    }
    return few_strings(left) != nullptr;
}

} // namespace etna::grammar
