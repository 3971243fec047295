#include "core/grammar/language.hpp"

#include <cassert>
#include <utility>

namespace etna::grammar {
namespace {

/// Maximum recursion depth of derive(), through nested rules and optional parts at the start of an
/// expression. Anything deeper is derived first, separately.
constexpr uint32_t derivation_depth_max = 500;

/// Alternatives with a cached next() that one step covers; uncached ones are charged separately.
constexpr std::size_t known_ways_of_step = 4;

/// Costs of an uncached next(), besides the expressions that it makes, and of the first table of all bytes:
/// measured with tens of thousands of parallel alternatives.
constexpr uint64_t steps_of_derivation = 10;
constexpr uint64_t steps_of_table = 50;

/// From this many alternatives on, only those that may begin with the byte are derived.
constexpr std::size_t many_ways = 32;
/// Maximum expressions visited to find the first bytes of an alternative, a step each.
constexpr int looks_of_way = 32;
/// Memory use of the cached first bytes of many alternatives.
constexpr std::size_t bytes_of_first_set = sizeof(std::pair<Expression, ByteSet>) + 32;

constexpr ByteSet any_byte = ByteSet{}.complement();

} // namespace

Expression Language::next(Expression from, std::string_view text) {
    for (const char byte : text) {
        if (from == nothing)
            break;
        from = next(from, static_cast<uint8_t>(byte));
    }
    return from;
}

Expression Language::Transitions::find(uint8_t byte) const {
    if (all != nullptr)
        return (*all)[byte];
    for (const auto& [known, target] : few) {
        if (known == byte)
            return target;
    }
    return unknown;
}

std::size_t Language::Transitions::add(uint8_t byte, Expression target) {
    if (all != nullptr) {
        (*all)[byte] = target;
        return 0;
    }
    if (few.size() < few_max) {
        few.emplace_back(byte, target);
        return sizeof(few[0]);
    }
    all = std::make_unique<Table>();
    all->fill(unknown);
    for (const auto& [known, its_target] : few)
        (*all)[known] = its_target;
    few = {};
    return add(byte, target) + sizeof(*all);
}

/// Uses little stack at any depth: if derive() would recurse too deeply it returns without a result, and is
/// called again once the skipped result is known. This terminates because there is no left recursion.
Expression Language::next(Expression from, uint8_t byte) {
    Expression result = find_next(from, byte);
    if (too_deep_ == nothing || depth_ > 0)
        return result;
    std::vector<Expression> open = {from};
    while (!open.empty() && !is_spent()) {
        if (too_deep_ != nothing)
            open.push_back(std::exchange(too_deep_, nothing));
        result = find_next(open.back(), byte);
        if (too_deep_ == nothing)
            open.pop_back();
    }
    too_deep_ = nothing;
    return open.empty() ? result : nothing;
}

Expression Language::find_next(Expression from, uint8_t byte) {
    if (const Expression known = transitions_[from].find(byte); known != Transitions::unknown)
        return known;
    if (is_spent() || too_deep_ != nothing) // results are incomplete and cannot be cached
        return nothing;
    if (depth_ == derivation_depth_max) {
        too_deep_ = from;
        return nothing;
    }
    ++depth_;
    take_steps(steps_of_derivation);
    const Expression result = derive(from, byte);
    --depth_;
    if (!is_spent() && too_deep_ == nothing) { // otherwise it may only lack memory, steps or depth
        const std::size_t bytes = transitions_[from].add(byte, result);
        take_steps(bytes >= Transitions::table_bytes ? steps_of_table : 0);
        bytes_ += bytes;
    }
    return result;
}

/// No reference into a node is held while others are made, because nodes_ grows.
Expression Language::derive(Expression from, uint8_t byte) {
    switch (nodes_[from].kind) {
    case Kind::no_string:
    case Kind::empty_string:
        return nothing;
    case Kind::bytes:
        return nodes_[from].set.contains(byte) ? empty : nothing;
    case Kind::sequence:
        return derive_sequence(from, byte);
    case Kind::either:
        return derive_either(from, byte);
    case Kind::repeat: {
        const Expression item = nodes_[from].children[0];
        const uint32_t least = nodes_[from].least;
        const uint32_t most = nodes_[from].most;
        const Expression after = next(item, byte);
        if (after == nothing)
            return nothing;
        return sequence(after,
                        repeat(item, least == 0 ? 0 : least - 1, most == unbounded ? unbounded : most - 1));
    }
    case Kind::unit:
        return unit(next(nodes_[from].children[0], byte));
    case Kind::automaton: {
        const uint32_t index = nodes_[from].index;
        const uint32_t target = automata_[index].next(nodes_[from].state, byte);
        if (target == Automaton::dead)
            return nothing;
        return add({.kind = Kind::automaton, .index = index, .state = target});
    }
    case Kind::counted: {
        const Node node = nodes_[from];
        return derive_counted(node, byte);
    }
    case Kind::distinct: {
        const Node node = nodes_[from];
        return derive_distinct(node, byte);
    }
    case Kind::within: {
        const Node node = nodes_[from];
        return derive_within(node, byte);
    }
    case Kind::rule:
        return next(*rules_[nodes_[from].index].definition, byte);
    }
    return nothing;
}

Expression Language::derive_sequence(Expression from, uint8_t byte) {
    const Expression head = nodes_[from].children[0];
    const Expression tail = nodes_[from].children[1];
    const Expression through = sequence(next(head, byte), tail);
    return is_nullable(head) ? either(through, next(tail, byte)) : through;
}

Expression Language::derive_either(Expression from, uint8_t byte) {
    const std::size_t count = nodes_[from].children.size();
    const ByteSet first = count < many_ways ? any_byte : first_of_ways(from);
    if (!first.contains(byte))
        return nothing;
    const bool is_sifted = first != any_byte; // otherwise an alternative's first bytes are unknown
    take_steps(count / known_ways_of_step);
    std::vector<Expression> all;
    for (std::size_t i = 0; i < count; ++i) {
        const Expression one = nodes_[from].children[i];
        const bool is_known = transitions_[one].find(byte) != Transitions::unknown;
        if (is_sifted && !is_known && !first_of(one).contains(byte))
            continue;
        if (const Expression after = next(one, byte); after != nothing)
            all.push_back(after);
    }
    return either(all);
}

const ByteSet& Language::first_of_ways(Expression many) {
    const auto [place, is_new] = first_of_ways_.try_emplace(many);
    if (is_new) {
        for (const Expression one : nodes_[many].children)
            place->second |= first_of(one);
        bytes_ += bytes_of_first_set;
    }
    return place->second;
}

ByteSet Language::first_of(Expression expression) {
    int looks = looks_of_way;
    const ByteSet first = first_of(expression, looks);
    take_steps(static_cast<std::size_t>(looks_of_way - looks));
    return first;
}

ByteSet Language::first_of(Expression expression, int& looks) const {
    if (looks-- == 0)
        return any_byte;
    const Node& node = nodes_[expression];
    switch (node.kind) {
    case Kind::no_string:
    case Kind::empty_string:
        return {};
    case Kind::bytes:
        return node.set;
    case Kind::sequence:
    case Kind::either: {
        ByteSet all;
        for (const Expression part : node.children) {
            all |= first_of(part, looks);
            if (looks < 0 || (node.kind == Kind::sequence && nullable_[part] == Nullable::no))
                break;
        }
        return all;
    }
    case Kind::repeat:
    case Kind::unit:
    case Kind::within:
        return first_of(node.children[0], looks);
    case Kind::rule:
        return first_of(*rules_[node.index].definition, looks);
    case Kind::automaton:
    case Kind::counted:
    case Kind::distinct:
        break;
    }
    return any_byte;
}

} // namespace etna::grammar
