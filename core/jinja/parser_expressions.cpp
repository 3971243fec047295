// Parser: expressions.

#include "core/jinja/errors.hpp"
#include "core/jinja/parser_private.hpp"
#include "core/jinja/walk.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::size_t height_max = 500; ///< of one expression's tree; `a + b + c + ...` adds one per operand

} // namespace

template <class Node>
Result<ExpressionPtr> Parser::make(Position at, Node node) const {
    auto expression = std::make_unique<Expression>();
    for_each_child(node, [&](const ExpressionPtr& child) {
        if (child != nullptr)
            expression->height = std::max(expression->height, child->height + 1);
    });
    if (expression->height > height_max) {
        return limit_error(fmt::format("template: {}: an expression of more than {} parts in each other",
                                       to_string(at), height_max));
    }
    expression->at = at;
    expression->node = std::move(node);
    return expression;
}

Result<ExpressionPtr> Parser::expression(Conditions conditions) {
    const Level level(*this);
    ETNA_CHECK(level.check());
    return conditions == Conditions::allowed ? condition() : logic_or();
}

/// Parses expressions separated by commas as a tuple; one expression without a comma is not wrapped.
Result<ExpressionPtr> Parser::tuple(Conditions conditions, std::string_view end_name, bool is_bracketed) {
    const Position at = current().at;
    Sequence sequence = {.items = {}, .is_tuple = true};
    bool is_tuple = false;
    while (true) {
        const bool ends = current().type == TokenType::variable_end ||
                          current().type == TokenType::block_end || at_sign(")") ||
                          (!end_name.empty() && at_name(end_name));
        if (ends)
            break;
        ETNA_TRY(auto item, expression(conditions));
        sequence.items.push_back(std::move(item));
        if (!skip_sign(","))
            break;
        is_tuple = true;
    }
    if (!is_tuple && !sequence.items.empty())
        return std::move(sequence.items.front());
    if (!is_tuple && !is_bracketed)
        return unexpected("an expression");
    return make(at, std::move(sequence));
}

Result<ExpressionPtr> Parser::condition() {
    const Position at = current().at;
    ETNA_TRY(auto result, logic_or());
    while (skip_name("if")) {
        ETNA_TRY(auto test, logic_or());
        ExpressionPtr otherwise;
        if (skip_name("else")) {
            ETNA_TRY(otherwise, expression());
        }
        ETNA_TRY(result, make(at, Condition{std::move(test), std::move(result), std::move(otherwise)}));
    }
    return result;
}

Result<ExpressionPtr> Parser::logic_or() {
    const Position at = current().at;
    ETNA_TRY(auto left, logic_and());
    while (skip_name("or")) {
        ETNA_TRY(auto right, logic_and());
        ETNA_TRY(left, make(at, Logic{LogicOperator::either, std::move(left), std::move(right)}));
    }
    return left;
}

Result<ExpressionPtr> Parser::logic_and() {
    const Position at = current().at;
    ETNA_TRY(auto left, logic_not());
    while (skip_name("and")) {
        ETNA_TRY(auto right, logic_not());
        ETNA_TRY(left, make(at, Logic{LogicOperator::both, std::move(left), std::move(right)}));
    }
    return left;
}

Result<ExpressionPtr> Parser::logic_not() {
    const Position at = current().at;
    if (!skip_name("not"))
        return comparison();
    const Level level(*this);
    ETNA_CHECK(level.check());
    ETNA_TRY(auto operand, logic_not());
    return make(at, Unary{UnaryOperator::logical_not, std::move(operand)});
}

Result<ExpressionPtr> Parser::comparison() {
    constexpr std::pair<std::string_view, Comparison> signs[] = {
        {"==", Comparison::equal},      {"!=", Comparison::unequal}, {"<", Comparison::less},
        {"<=", Comparison::less_equal}, {">", Comparison::greater},  {">=", Comparison::greater_equal}};
    const Position at = current().at;
    Compare compare;
    ETNA_TRY(compare.first, sum());
    while (true) {
        const auto* sign = std::find_if(std::begin(signs), std::end(signs),
                                        [&](const auto& each) { return skip_sign(each.first); });
        auto comparison = Comparison::in;
        if (sign != std::end(signs)) {
            comparison = sign->second;
        } else if (at_name("not") && is_name(ahead(), "in")) {
            take();
            take();
            comparison = Comparison::not_in;
        } else if (!skip_name("in")) {
            break;
        }
        ETNA_TRY(auto operand, sum());
        compare.rest.emplace_back(comparison, std::move(operand));
    }
    if (compare.rest.empty())
        return std::move(compare.first);
    return make(at, std::move(compare));
}

Result<ExpressionPtr> Parser::sum() {
    const Position at = current().at;
    ETNA_TRY(auto left, concatenation());
    while (at_sign("+") || at_sign("-")) {
        const auto sign = take().text == "+" ? BinaryOperator::add : BinaryOperator::subtract;
        ETNA_TRY(auto right, concatenation());
        ETNA_TRY(left, make(at, Binary{sign, std::move(left), std::move(right)}));
    }
    return left;
}

Result<ExpressionPtr> Parser::concatenation() {
    const Position at = current().at;
    Concatenation parts;
    do {
        ETNA_TRY(auto part, product());
        parts.parts.push_back(std::move(part));
    } while (skip_sign("~"));
    if (parts.parts.size() == 1)
        return std::move(parts.parts.front());
    return make(at, std::move(parts));
}

Result<ExpressionPtr> Parser::product() {
    constexpr std::pair<std::string_view, BinaryOperator> signs[] = {{"*", BinaryOperator::multiply},
                                                                     {"/", BinaryOperator::divide},
                                                                     {"//", BinaryOperator::floor_divide},
                                                                     {"%", BinaryOperator::modulo}};
    const Position at = current().at;
    ETNA_TRY(auto left, power());
    while (true) {
        const auto* sign = std::find_if(std::begin(signs), std::end(signs),
                                        [&](const auto& each) { return skip_sign(each.first); });
        if (sign == std::end(signs))
            return left;
        ETNA_TRY(auto right, power());
        ETNA_TRY(left, make(at, Binary{sign->second, std::move(left), std::move(right)}));
    }
}

Result<ExpressionPtr> Parser::power() {
    const Position at = current().at;
    ETNA_TRY(auto left, unary(true));
    while (skip_sign("**")) { // left-associative, unlike in Python
        ETNA_TRY(auto right, unary(true));
        ETNA_TRY(left, make(at, Binary{BinaryOperator::power, std::move(left), std::move(right)}));
    }
    return left;
}

Result<ExpressionPtr> Parser::unary(bool with_filters) {
    const Level level(*this);
    ETNA_CHECK(level.check());
    const Position at = current().at;
    ExpressionPtr node;
    if (at_sign("-") || at_sign("+")) {
        const auto sign = take().text == "-" ? UnaryOperator::negate : UnaryOperator::plus;
        ETNA_TRY(auto operand, unary(false));
        ETNA_TRY(node, make(at, Unary{sign, std::move(operand)}));
    } else {
        ETNA_TRY(node, primary());
    }
    ETNA_TRY(node, postfix(std::move(node)));
    if (with_filters) {
        ETNA_TRY(node, filters_and_tests(std::move(node)));
    }
    return node;
}

Result<ExpressionPtr> Parser::primary() {
    const Token& token = current();
    const Position at = token.at;
    if (token.type == TokenType::name) {
        const std::string& name = take().text;
        if (name == "true" || name == "True" || name == "false" || name == "False")
            return make(at, Constant{name == "true" || name == "True"});
        if (name == "none" || name == "None")
            return make(at, Constant{None{}});
        return make(at, Name{name});
    }
    if (token.type == TokenType::string) {
        std::string text;
        while (current().type == TokenType::string) // adjacent literals form one string
            text += take().text;
        return make(at, Constant{text});
    }
    if (token.type == TokenType::integer || token.type == TokenType::real)
        return make(at, Constant{take().number});
    if (skip_sign("(")) {
        ETNA_TRY(auto inside, tuple(Conditions::allowed, {}, true));
        ETNA_CHECK(expect_sign(")"));
        return inside;
    }
    if (at_sign("["))
        return list_literal();
    if (at_sign("{"))
        return dict_literal();
    return unexpected({});
}

Result<ExpressionPtr> Parser::list_literal() {
    const Position at = take().at;
    Sequence list;
    while (!at_sign("]")) {
        if (!list.items.empty())
            ETNA_CHECK(expect_sign(","));
        if (at_sign("]"))
            break;
        ETNA_TRY(auto item, expression());
        list.items.push_back(std::move(item));
    }
    ETNA_CHECK(expect_sign("]"));
    return make(at, std::move(list));
}

Result<ExpressionPtr> Parser::dict_literal() {
    const Position at = take().at;
    DictLiteral dict;
    while (!at_sign("}")) {
        if (!dict.entries.empty())
            ETNA_CHECK(expect_sign(","));
        if (at_sign("}"))
            break;
        ETNA_TRY(auto key, expression());
        ETNA_CHECK(expect_sign(":"));
        ETNA_TRY(auto value, expression());
        dict.entries.emplace_back(std::move(key), std::move(value));
    }
    ETNA_CHECK(expect_sign("}"));
    return make(at, std::move(dict));
}

Result<ExpressionPtr> Parser::postfix(ExpressionPtr operand) {
    while (true) {
        if (at_sign(".") || at_sign("[")) {
            ETNA_TRY(operand, subscript(std::move(operand)));
        } else if (at_sign("(")) {
            const Position at = current().at;
            ETNA_TRY(auto arguments, call_arguments());
            ETNA_TRY(operand, make(at, Call{std::move(operand), std::move(arguments)}));
        } else {
            return operand;
        }
    }
}

Result<ExpressionPtr> Parser::filters_and_tests(ExpressionPtr operand) {
    while (true) {
        if (at_sign("|")) {
            ETNA_TRY(operand, filter_chain(std::move(operand), false));
        } else if (at_name("is")) {
            ETNA_TRY(operand, test(std::move(operand)));
        } else if (at_sign("(")) {
            const Position at = current().at;
            ETNA_TRY(auto arguments, call_arguments());
            ETNA_TRY(operand, make(at, Call{std::move(operand), std::move(arguments)}));
        } else {
            return operand;
        }
    }
}

Result<ExpressionPtr> Parser::subscript(ExpressionPtr operand) {
    const Position at = current().at;
    if (take().text == ".") {
        const Token& name = take();
        if (name.type == TokenType::name)
            return make(at, Attribute{std::move(operand), name.text});
        if (name.type != TokenType::integer)
            return syntax_error(name.at, "expected name or number");
        ETNA_TRY(auto index, make(name.at, Constant{name.number}));
        return make(at, Subscript{std::move(operand), std::move(index)});
    }
    Sequence parts = {.items = {}, .is_tuple = true};
    while (!at_sign("]")) {
        if (!parts.items.empty())
            ETNA_CHECK(expect_sign(","));
        ETNA_TRY(auto part, subscript_part());
        parts.items.push_back(std::move(part));
    }
    ETNA_CHECK(expect_sign("]"));
    if (parts.items.size() == 1)
        return make(at, Subscript{std::move(operand), std::move(parts.items.front())});
    ETNA_TRY(auto index, make(at, std::move(parts)));
    return make(at, Subscript{std::move(operand), std::move(index)});
}

Result<ExpressionPtr> Parser::subscript_part() {
    const Position at = current().at;
    Slice slice;
    if (!at_sign(":")) {
        ETNA_TRY(slice.start, expression());
        if (!at_sign(":"))
            return std::move(slice.start);
    }
    take();
    const auto ends = [&] { return at_sign("]") || at_sign(","); };
    if (!at_sign(":") && !ends()) {
        ETNA_TRY(slice.stop, expression());
    }
    if (skip_sign(":") && !ends()) {
        ETNA_TRY(slice.step, expression());
    }
    return make(at, std::move(slice));
}

Result<std::string> Parser::dotted_name() {
    ETNA_TRY(auto name, expect_any_name());
    while (skip_sign(".")) {
        ETNA_TRY(const auto part, expect_any_name());
        name += "." + part;
    }
    return name;
}

/// Parses a chain of filters. `operand` is null for the first filter of a block.
Result<ExpressionPtr> Parser::filter_chain(ExpressionPtr operand, bool starts_with_name) {
    while (starts_with_name || skip_sign("|")) {
        starts_with_name = false;
        const Position at = current().at;
        Filter filter;
        ETNA_TRY(filter.name, dotted_name());
        if (at_sign("(")) {
            ETNA_TRY(filter.arguments, call_arguments());
        }
        filter.operand = std::move(operand);
        ETNA_TRY(operand, make(at, std::move(filter)));
    }
    return operand;
}

Result<ExpressionPtr> Parser::test(ExpressionPtr operand) {
    const Position at = take().at;
    const bool is_negated = skip_name("not");
    Test test;
    ETNA_TRY(test.name, dotted_name());
    const TokenType type = current().type;
    const bool is_operand =
        type == TokenType::string || type == TokenType::integer || type == TokenType::real || at_sign("[") ||
        at_sign("{") || (type == TokenType::name && !at_name("else") && !at_name("or") && !at_name("and"));
    if (at_sign("(")) {
        ETNA_TRY(test.arguments, call_arguments());
    } else if (is_operand) {
        if (at_name("is"))
            return syntax_error(current().at, "You cannot chain multiple tests with is");
        ETNA_TRY(auto argument, primary());
        ETNA_TRY(argument, postfix(std::move(argument)));
        test.arguments.positional.push_back(std::move(argument));
    }
    test.operand = std::move(operand);
    ETNA_TRY(auto node, make(at, std::move(test)));
    if (!is_negated)
        return node;
    return make(at, Unary{UnaryOperator::logical_not, std::move(node)});
}

Result<CallArguments> Parser::call_arguments() {
    const Position at = take().at;
    CallArguments arguments;
    bool is_first = true;
    while (!at_sign(")")) {
        if (!is_first)
            ETNA_CHECK(expect_sign(","));
        if (at_sign(")"))
            break;
        is_first = false;
        ETNA_CHECK(call_argument(arguments, at));
    }
    ETNA_CHECK(expect_sign(")"));
    return arguments;
}

Status Parser::call_argument(CallArguments& arguments, Position at) {
    const Error misplaced = syntax_error(at, "invalid syntax for function call expression");
    if (arguments.more_keyword != nullptr)
        return misplaced;
    if (skip_sign("**")) {
        ETNA_TRY(arguments.more_keyword, expression());
        return {};
    }
    if (at_sign("*")) {
        if (arguments.more_positional != nullptr)
            return misplaced;
        take();
        ETNA_TRY(arguments.more_positional, expression());
        return {};
    }
    if (current().type == TokenType::name && is_sign(ahead(), "=")) {
        std::string name = take().text;
        take();
        ETNA_TRY(auto value, expression());
        const bool is_known = std::any_of(arguments.keyword.begin(), arguments.keyword.end(),
                                          [&](const auto& each) { return each.first == name; });
        if (is_known)
            return syntax_error(at, fmt::format("keyword argument repeated: {}", name));
        arguments.keyword.emplace_back(std::move(name), std::move(value));
        return {};
    }
    if (arguments.more_positional != nullptr || !arguments.keyword.empty())
        return misplaced;
    ETNA_TRY(auto value, expression());
    arguments.positional.push_back(std::move(value));
    return {};
}

} // namespace etna::jinja
