#pragma once

#include "core/jinja/ast.hpp"

namespace etna::jinja {

template <class Visit>
void for_each_child(const CallArguments& arguments, const Visit& visit) {
    for (const auto& argument : arguments.positional)
        visit(argument);
    for (const auto& [name, argument] : arguments.keyword)
        visit(argument);
    visit(arguments.more_positional);
    visit(arguments.more_keyword);
}

/// Calls visit(ExpressionPtr) for each direct child expression of `node`, in evaluation order; null ones
/// included.
template <class Node, class Visit>
void for_each_child(const Node& node, const Visit& visit) {
    if constexpr (std::is_same_v<Node, Sequence>) {
        for (const auto& item : node.items)
            visit(item);
    } else if constexpr (std::is_same_v<Node, DictLiteral>) {
        for (const auto& [key, value] : node.entries) {
            visit(key);
            visit(value);
        }
    } else if constexpr (std::is_same_v<Node, Unary>) {
        visit(node.operand);
    } else if constexpr (std::is_same_v<Node, Binary> || std::is_same_v<Node, Logic>) {
        visit(node.left);
        visit(node.right);
    } else if constexpr (std::is_same_v<Node, Compare>) {
        visit(node.first);
        for (const auto& [sign, operand] : node.rest)
            visit(operand);
    } else if constexpr (std::is_same_v<Node, Concatenation>) {
        for (const auto& part : node.parts)
            visit(part);
    } else if constexpr (std::is_same_v<Node, Condition>) {
        visit(node.test);
        visit(node.then);
        visit(node.otherwise);
    } else if constexpr (std::is_same_v<Node, Attribute>) {
        visit(node.object);
    } else if constexpr (std::is_same_v<Node, Subscript>) {
        visit(node.object);
        visit(node.index);
    } else if constexpr (std::is_same_v<Node, Slice>) {
        visit(node.start);
        visit(node.stop);
        visit(node.step);
    } else if constexpr (std::is_same_v<Node, Call>) {
        visit(node.callee);
        for_each_child(node.arguments, visit);
    } else if constexpr (std::is_same_v<Node, Filter> || std::is_same_v<Node, Test>) {
        visit(node.operand);
        for_each_child(node.arguments, visit);
    }
}

} // namespace etna::jinja
