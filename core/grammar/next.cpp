#include "core/grammar/language.hpp"

#include <cassert>

namespace etna::grammar {
namespace {

/// How deep rules and optional parts may stand in each other at the beginning of what is left: derive() calls
/// itself that often.
constexpr uint32_t derivation_depth_max = 4000;

/// Ways whose next() is known are looked up in one step; those whose is not count themselves.
constexpr std::size_t known_ways_of_step = 4;

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
    all = std::make_unique<std::array<Expression, 256>>();
    all->fill(unknown);
    for (const auto& [known, its_target] : few)
        (*all)[known] = its_target;
    few = {};
    return add(byte, target) + sizeof(*all);
}

Expression Language::next(Expression from, uint8_t byte) {
    if (const Expression known = transitions_[from].find(byte); known != Transitions::unknown)
        return known;
    if (is_spent()) // nothing that is found from now on can be kept
        return nothing;
    if (depth_ == derivation_depth_max) {
        is_full_ = true;
        return nothing;
    }
    ++depth_;
    take_steps(1);
    const Expression result = derive(from, byte);
    --depth_;
    if (!is_spent()) // else it may be refused for want of room or time alone
        bytes_ += transitions_[from].add(byte, result);
    return result;
}

Expression Language::derive(Expression from, uint8_t byte) {
    const Node node = nodes_[from]; // a copy: nodes_ grows below
    switch (node.kind) {
    case Kind::no_string:
    case Kind::empty_string:
        return nothing;
    case Kind::bytes:
        return node.set.contains(byte) ? empty : nothing;
    case Kind::sequence:
        return derive_sequence(from, byte);
    case Kind::either: {
        take_steps(node.children.size() / known_ways_of_step);
        std::vector<Expression> all;
        for (const Expression one : node.children) {
            if (const Expression after = next(one, byte); after != nothing)
                all.push_back(after);
        }
        return either(all);
    }
    case Kind::repeat: {
        const Expression item = node.children[0];
        const Expression after = next(item, byte);
        if (after == nothing)
            return nothing;
        const uint32_t most = node.most == unbounded ? unbounded : node.most - 1;
        return sequence(after, repeat(item, node.least == 0 ? 0 : node.least - 1, most));
    }
    case Kind::unit:
        return unit(next(node.children[0], byte));
    case Kind::automaton: {
        const uint32_t target = automata_[node.index].next(node.state, byte);
        if (target == Automaton::dead)
            return nothing;
        return add({.kind = Kind::automaton, .index = node.index, .state = target});
    }
    case Kind::within:
        return derive_within(node, byte);
    case Kind::rule:
        return next(*rules_[node.index].definition, byte);
    }
    return nothing;
}

Expression Language::derive_sequence(Expression from, uint8_t byte) {
    const Expression head = nodes_[from].children[0];
    const Expression tail = nodes_[from].children[1];
    const Expression through = sequence(next(head, byte), tail);
    return is_nullable(head) ? either(through, next(tail, byte)) : through;
}

} // namespace etna::grammar
