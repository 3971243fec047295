// Interpreter: expressions.

#include "core/jinja/access.hpp"
#include "core/jinja/builtins.hpp"
#include "core/jinja/interpreter.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"

#include <fmt/format.h>

namespace etna::jinja {

Result<Value> Interpreter::evaluate(const Expression& expression) {
    const DepthGuard guard(machine_.levels());
    Status allowed = machine_.check_recursion();
    if (allowed)
        allowed = machine_.spend(step_work);
    auto result = allowed ? value_of(expression) : Result<Value>(allowed.error());
    if (!result && !failed_at_)
        failed_at_ = expression.at;
    return result;
}

Result<Value> Interpreter::value_of(const Expression& expression) {
    const auto& operands = expression.operands;
    switch (expression.kind) {
    case ExpressionKind::constant:
        return expression.value;
    case ExpressionKind::name:
        return look_up(expression.name);
    case ExpressionKind::list:
    case ExpressionKind::tuple: {
        ETNA_TRY(auto items, values_of(operands));
        const bool is_list = expression.kind == ExpressionKind::list;
        return is_list ? machine_.list(std::move(items)) : machine_.tuple(std::move(items));
    }
    case ExpressionKind::dict:
        return dict_value(expression);
    case ExpressionKind::unary: {
        ETNA_TRY(const auto operand, evaluate(operands[0]));
        if (expression.sign != Operator::logical_not)
            return negated(operand, expression.sign);
        ETNA_TRY(const bool truth, is_true(machine_, operand));
        return Value(!truth);
    }
    case ExpressionKind::binary:
        return binary_value(expression);
    case ExpressionKind::compare:
        return comparison_value(expression);
    case ExpressionKind::concatenation:
        return concatenated(expression);
    case ExpressionKind::condition:
        return conditional(expression);
    case ExpressionKind::attribute: {
        ETNA_TRY(const auto object, evaluate(operands[0]));
        return attribute(machine_, object, expression.name);
    }
    case ExpressionKind::subscript:
        return subscript_value(expression);
    case ExpressionKind::call: {
        ETNA_TRY(const auto callee, evaluate(operands[0]));
        ETNA_TRY(auto arguments, arguments_of(expression));
        return call(machine_, callee, std::move(arguments));
    }
    case ExpressionKind::filter: {
        ETNA_TRY(const auto operand, evaluate(operands[0]));
        return filtered(expression, operand);
    }
    case ExpressionKind::test: {
        ETNA_TRY(const auto operand, evaluate(operands[0]));
        ETNA_TRY(auto arguments, arguments_of(expression));
        return call_test(machine_, expression.name, operand, std::move(arguments));
    }
    case ExpressionKind::slice: // part of a subscript
        break;
    }
    return Value();
}

Value Interpreter::look_up(std::string_view name) {
    if (const auto* variable = scope_->find(name)) {
        if (*variable)
            return **variable;
    } else if (const Value* given = context_->find(name)) {
        return *given;
    } else if (auto global = global_value(name)) {
        return std::move(*global);
    }
    return Value(std::shared_ptr<const Missing>(std::make_shared<Missing>(Missing{.name = Value(name)})));
}

Result<std::vector<Value>> Interpreter::values_of(const std::vector<ExpressionPtr>& expressions) {
    std::vector<Value> values;
    values.reserve(expressions.size());
    for (const auto& expression : expressions) {
        ETNA_TRY(auto value, evaluate(expression));
        values.push_back(std::move(value));
    }
    return values;
}

Result<Value> Interpreter::dict_value(const Expression& expression) {
    ETNA_TRY(auto values, values_of(expression.operands));
    std::vector<Dict::Entry> entries;
    entries.reserve(values.size() / 2);
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
        entries.push_back({std::move(values[i]), std::move(values[i + 1])});
    return machine_.dict(std::move(entries));
}

Result<Value> Interpreter::binary_value(const Expression& expression) {
    const Operator sign = expression.sign;
    ETNA_TRY(auto left, evaluate(expression.operands[0]));
    if (sign == Operator::logical_and || sign == Operator::logical_or) {
        ETNA_TRY(const bool truth, is_true(machine_, left));
        return truth == (sign == Operator::logical_or) ? Result<Value>(left)
                                                       : evaluate(expression.operands[1]);
    }
    ETNA_TRY(const auto right, evaluate(expression.operands[1]));
    return binary(machine_, sign, left, right);
}

Result<Value> Interpreter::comparison_value(const Expression& expression) {
    ETNA_TRY(auto left, evaluate(expression.operands[0]));
    for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
        ETNA_TRY(auto right, evaluate(expression.operands[i + 1]));
        ETNA_TRY(const bool holds, compare(machine_, expression.comparisons[i], left, right));
        if (!holds)
            return Value(false);
        left = std::move(right);
    }
    return Value(true);
}

Result<Value> Interpreter::concatenated(const Expression& expression) {
    ETNA_TRY(const auto values, values_of(expression.operands));
    std::string text;
    for (const Value& value : values) {
        ETNA_TRY(const auto added, to_text(machine_, value));
        ETNA_CHECK(machine_.room_for(text.size() + added.size()));
        text += added;
    }
    return machine_.text(std::move(text));
}

Result<Value> Interpreter::conditional(const Expression& expression) {
    const auto& operands = expression.operands;
    ETNA_TRY(const auto test, evaluate(operands[0]));
    ETNA_TRY(const bool truth, is_true(machine_, test));
    if (truth || operands[2] != nullptr)
        return evaluate(operands[truth ? 1 : 2]);
    return undefined(
        fmt::format("the inline if-expression on line {} evaluated to false and no else section was defined.",
                    expression.at.line));
}

Result<Value> Interpreter::subscript_value(const Expression& expression) {
    ETNA_TRY(const auto object, evaluate(expression.operands[0]));
    const Expression& index = *expression.operands[1];
    if (index.kind != ExpressionKind::slice) {
        ETNA_TRY(const auto key, evaluate(index));
        return subscript(machine_, object, key);
    }
    Value parts[3] = {None{}, None{}, None{}};
    for (std::size_t i = 0; i < 3; ++i) {
        if (index.operands[i] != nullptr) {
            ETNA_TRY(parts[i], evaluate(index.operands[i]));
        }
    }
    return sliced(machine_, object, parts[0], parts[1], parts[2]);
}

Result<Arguments> Interpreter::arguments_of(const Expression& node) {
    Arguments out;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        ETNA_TRY(auto value, evaluate(node.operands[i + 1]));
        if (node.arguments[i].empty()) {
            out.positional.push_back(std::move(value));
        } else {
            out.keyword.emplace_back(node.arguments[i], std::move(value));
        }
    }
    return out;
}

Result<Value> Interpreter::filtered(const Expression& filter, const Value& operand) {
    ETNA_TRY(auto arguments, arguments_of(filter));
    return call_filter(machine_, filter.name, operand, std::move(arguments));
}

Result<Value> Interpreter::filtered_text(const Expression& chain, const Value& text) {
    if (chain.operands[0] == nullptr)
        return filtered(chain, text);
    ETNA_TRY(const auto operand, filtered_text(*chain.operands[0], text));
    return filtered(chain, operand);
}

} // namespace etna::jinja
