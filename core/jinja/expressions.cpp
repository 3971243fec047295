// Interpreter: expressions.

#include "core/jinja/access.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/globals.hpp"
#include "core/jinja/interpreter.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/tests.hpp"

#include <fmt/format.h>

namespace etna::jinja {

Result<Value> Interpreter::evaluate(const Expression& expression) {
    const Machine::Level level(machine_);
    Status allowed = level.check();
    if (allowed)
        allowed = machine_.spend(step_work);
    auto result =
        allowed ? std::visit([&](const auto& node) { return value_of(node, expression.at); }, expression.node)
                : Result<Value>(allowed.error());
    if (!result && !failed_at_)
        failed_at_ = expression.at;
    return result;
}

Value Interpreter::look_up(std::string_view name) {
    const auto* exported = top_->find(name);
    if (const auto* variable = scope_->find(name)) {
        if (*variable)
            return **variable;
    } else if (exported != nullptr && *exported) { // in a block, which has no outer scope
        return **exported;
    } else if (const Value* given = context_->find(name)) {
        return *given;
    } else if (auto global = global_value(name)) {
        return std::move(*global);
    }
    return Value(std::shared_ptr<const Missing>(std::make_shared<Missing>(Missing{.name = Value(name)})));
}

Result<Value> Interpreter::value_of(const Constant& constant, Position /*at*/) {
    return constant.value;
}

Result<Value> Interpreter::value_of(const Name& name, Position /*at*/) {
    return look_up(name.name);
}

Result<Value> Interpreter::value_of(const Sequence& sequence, Position /*at*/) {
    std::vector<Value> items;
    items.reserve(sequence.items.size());
    for (const auto& item : sequence.items) {
        ETNA_TRY(auto value, evaluate(item));
        items.push_back(std::move(value));
    }
    return sequence.is_tuple ? machine_.tuple(std::move(items)) : machine_.list(std::move(items));
}

Result<Value> Interpreter::value_of(const DictLiteral& dict, Position /*at*/) {
    std::vector<Dict::Entry> entries;
    entries.reserve(dict.entries.size());
    for (const auto& [key, value] : dict.entries) {
        ETNA_TRY(auto key_value, evaluate(key));
        ETNA_TRY(auto entry_value, evaluate(value));
        entries.push_back({std::move(key_value), std::move(entry_value)});
    }
    return machine_.dict(std::move(entries));
}

Result<Value> Interpreter::value_of(const Unary& unary, Position /*at*/) {
    ETNA_TRY(const auto operand, evaluate(unary.operand));
    if (unary.sign != UnaryOperator::logical_not)
        return negated(machine_, operand, unary.sign);
    ETNA_TRY(const bool truth, is_true(machine_, operand));
    return Value(!truth);
}

Result<Value> Interpreter::value_of(const Binary& operation, Position /*at*/) {
    ETNA_TRY(const auto left, evaluate(operation.left));
    ETNA_TRY(const auto right, evaluate(operation.right));
    return binary(machine_, operation.sign, left, right);
}

Result<Value> Interpreter::value_of(const Logic& logic, Position /*at*/) {
    ETNA_TRY(auto left, evaluate(logic.left));
    ETNA_TRY(const bool truth, is_true(machine_, left));
    if (truth == (logic.sign == LogicOperator::either))
        return left;
    return evaluate(logic.right);
}

Result<Value> Interpreter::value_of(const Compare& comparison, Position /*at*/) {
    ETNA_TRY(auto left, evaluate(comparison.first));
    for (const auto& [sign, operand] : comparison.rest) {
        ETNA_TRY(auto right, evaluate(operand));
        ETNA_TRY(const bool holds, compare(machine_, sign, left, right));
        if (!holds)
            return Value(false);
        left = std::move(right);
    }
    return Value(true);
}

/// Concatenates to text; inside {% autoescape true %} to markup if any part is markup.
Result<Value> Interpreter::value_of(const Concatenation& parts, Position /*at*/) {
    std::vector<Value> pieces;
    bool is_markup = false;
    for (const auto& part : parts.parts) {
        ETNA_TRY(auto piece, evaluate(part));
        is_markup = is_markup || (escaping_ == Escaping::on && piece.is_markup());
        pieces.push_back(std::move(piece));
    }
    std::string text;
    for (const Value& piece : pieces) {
        ETNA_TRY(auto added, to_text(machine_, piece));
        if (is_markup && !piece.is_markup())
            added = escaped(added);
        ETNA_CHECK(machine_.room_for(text.size() + added.size()));
        text += added;
    }
    return machine_.text(std::move(text), is_markup);
}

Result<Value> Interpreter::value_of(const Condition& condition, Position at) {
    ETNA_TRY(const auto test, evaluate(condition.test));
    ETNA_TRY(const bool truth, is_true(machine_, test));
    if (truth)
        return evaluate(condition.then);
    if (condition.otherwise != nullptr)
        return evaluate(condition.otherwise);
    return Value(std::shared_ptr<const Missing>(std::make_shared<Missing>(Missing{
        .hint = fmt::format("the inline if-expression on line {} evaluated to false and no else section "
                            "was defined.",
                            at.line)})));
}

Result<Value> Interpreter::value_of(const Attribute& node, Position /*at*/) {
    ETNA_TRY(const auto object, evaluate(node.object));
    return attribute(machine_, object, node.name);
}

Result<Value> Interpreter::value_of(const Subscript& node, Position /*at*/) {
    ETNA_TRY(const auto object, evaluate(node.object));
    const auto* slice = std::get_if<Slice>(&node.index->node);
    if (slice == nullptr) {
        ETNA_TRY(const auto index, evaluate(node.index));
        return subscript(machine_, object, index);
    }
    Value parts[3] = {None{}, None{}, None{}};
    const ExpressionPtr* nodes[3] = {&slice->start, &slice->stop, &slice->step};
    for (std::size_t i = 0; i < 3; ++i) {
        if (*nodes[i] != nullptr) {
            ETNA_TRY(parts[i], evaluate(*nodes[i]));
        }
    }
    return sliced(machine_, object, parts[0], parts[1], parts[2]);
}

/// A slice inside a tuple index, as in a[1:2, 3], which no value supports.
Result<Value> Interpreter::value_of(const Slice& /*slice*/, Position /*at*/) {
    return type_error("a slice can only stand alone between brackets");
}

Result<Arguments> Interpreter::arguments_of(const CallArguments& node) {
    Arguments arguments;
    for (const auto& argument : node.positional) {
        ETNA_TRY(auto value, evaluate(argument));
        arguments.positional.push_back(std::move(value));
    }
    if (node.more_positional != nullptr) {
        ETNA_TRY(const auto more, evaluate(node.more_positional));
        if (!is_iterable(machine_, more))
            return type_error(fmt::format("argument after * must be an iterable, not {}", type_name(more)));
        ETNA_TRY(const auto items, items_of(machine_, more));
        arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
    }
    for (const auto& [name, argument] : node.keyword) {
        ETNA_TRY(auto value, evaluate(argument));
        arguments.keyword.emplace_back(name, std::move(value));
    }
    if (node.more_keyword == nullptr)
        return arguments;
    ETNA_TRY(const auto more, evaluate(node.more_keyword));
    if (!more.is(Type::dict))
        return type_error(fmt::format("argument after ** must be a mapping, not {}", type_name(more)));
    for (const Dict::Entry& entry : more.dict()->entries) {
        if (!entry.key.is(Type::string))
            return type_error("keywords must be strings");
        for (const auto& [name, value] : arguments.keyword) {
            if (name == entry.key.string())
                return type_error(fmt::format("got multiple values for keyword argument '{}'", name));
        }
        arguments.keyword.emplace_back(entry.key.string(), entry.value);
    }
    return arguments;
}

Result<Value> Interpreter::value_of(const Call& node, Position /*at*/) {
    ETNA_TRY(const auto callee, evaluate(node.callee));
    ETNA_TRY(auto arguments, arguments_of(node.arguments));
    return call(machine_, callee, std::move(arguments));
}

Result<Value> Interpreter::filtered(const Filter& filter, const Value& operand) {
    ETNA_TRY(auto arguments, arguments_of(filter.arguments));
    return call_filter(machine_, filter.name, operand, std::move(arguments));
}

Result<Value> Interpreter::value_of(const Filter& filter, Position /*at*/) {
    ETNA_TRY(const auto operand, evaluate(filter.operand));
    return filtered(filter, operand);
}

/// Applies a chain of filters to `text`.
Result<Value> Interpreter::filtered_text(const Expression& chain, const Value& text) {
    const auto& filter = std::get<Filter>(chain.node);
    if (filter.operand == nullptr)
        return filtered(filter, text);
    ETNA_TRY(const auto operand, filtered_text(*filter.operand, text));
    return filtered(filter, operand);
}

Result<Value> Interpreter::value_of(const Test& test, Position /*at*/) {
    ETNA_TRY(const auto operand, evaluate(test.operand));
    ETNA_TRY(auto arguments, arguments_of(test.arguments));
    return call_test(machine_, test.name, operand, std::move(arguments));
}

} // namespace etna::jinja
