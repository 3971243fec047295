// Parser: expressions.

#include "core/jinja/parser.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::size_t height_max = 500; ///< of one expression's tree; `a + b + c + ...` adds one per operand

constexpr std::pair<std::string_view, Operator> or_sign[] = {{"or", Operator::logical_or}};
constexpr std::pair<std::string_view, Operator> and_sign[] = {{"and", Operator::logical_and}};
constexpr std::pair<std::string_view, Comparison> comparisons[] = {
    {"==", Comparison::equal},      {"!=", Comparison::unequal}, {"<", Comparison::less},
    {"<=", Comparison::less_equal}, {">", Comparison::greater},  {">=", Comparison::greater_equal},
    {"in", Comparison::in}};
constexpr std::pair<std::string_view, Operator> sums[] = {{"+", Operator::add}, {"-", Operator::subtract}};
constexpr std::pair<std::string_view, Operator> products[] = {{"*", Operator::multiply},
                                                              {"/", Operator::divide},
                                                              {"//", Operator::floor_divide},
                                                              {"%", Operator::modulo}};

} // namespace

template <class... Operands>
Result<ExpressionPtr> Parser::make(Expression node, Operands... operands) const {
    (node.operands.push_back(std::move(operands)), ...);
    for (const ExpressionPtr& operand : node.operands)
        node.height = std::max(node.height, operand != nullptr ? operand->height + 1 : 0);
    if (node.height > height_max) {
        return limit_error("template: {}: an expression of more than {} nested parts", to_string(node.at),
                           height_max);
    }
    return std::make_unique<Expression>(std::move(node));
}

Result<ExpressionPtr> Parser::expression(Conditions conditions) {
    const DepthGuard guard(nesting_);
    ETNA_CHECK(check_nesting());
    return conditions == Conditions::allowed ? condition() : logic_or();
}

/// Parses expressions separated by commas as a tuple; one expression without a comma is not wrapped. `end` is
/// a name that ends it.
Result<ExpressionPtr> Parser::tuple(Conditions conditions, std::string_view end, bool may_be_empty) {
    const Position begin = current().at;
    Expression sequence = {.kind = ExpressionKind::tuple, .at = begin};
    bool is_tuple = false;
    while (!at(TokenType::variable_end) && !at(TokenType::block_end) && !at(")") &&
           (end.empty() || !at(end))) {
        ETNA_TRY(auto item, expression(conditions));
        sequence.operands.push_back(std::move(item));
        if (!skip(","))
            break;
        is_tuple = true;
    }
    if (!is_tuple && !sequence.operands.empty())
        return std::move(sequence.operands.front());
    if (!is_tuple && !may_be_empty)
        return unexpected("an expression");
    return make(std::move(sequence));
}

Result<ExpressionPtr> Parser::condition() {
    const Position begin = current().at;
    ETNA_TRY(auto result, logic_or());
    while (skip("if")) {
        ETNA_TRY(auto test, logic_or());
        ExpressionPtr otherwise;
        if (skip("else")) {
            ETNA_TRY(otherwise, expression());
        }
        ETNA_TRY(result, make({.kind = ExpressionKind::condition, .at = begin}, std::move(test),
                              std::move(result), std::move(otherwise)));
    }
    return result;
}

/// Parses left-associative operators of one precedence.
Result<ExpressionPtr> Parser::chain(std::span<const std::pair<std::string_view, Operator>> signs,
                                    Operand parse_operand) {
    const Position begin = current().at;
    ETNA_TRY(auto left, (this->*parse_operand)());
    while (true) {
        const auto sign =
            std::find_if(signs.begin(), signs.end(), [&](const auto& each) { return skip(each.first); });
        if (sign == signs.end())
            return left;
        ETNA_TRY(auto right, (this->*parse_operand)());
        ETNA_TRY(left, make({.kind = ExpressionKind::binary, .at = begin, .sign = sign->second},
                            std::move(left), std::move(right)));
    }
}

Result<ExpressionPtr> Parser::logic_or() {
    return chain(or_sign, &Parser::logic_and);
}

Result<ExpressionPtr> Parser::logic_and() {
    return chain(and_sign, &Parser::logic_not);
}

Result<ExpressionPtr> Parser::logic_not() {
    const Position begin = current().at;
    if (!skip("not"))
        return comparison();
    const DepthGuard guard(nesting_);
    ETNA_CHECK(check_nesting());
    ETNA_TRY(auto operand, logic_not());
    return make({.kind = ExpressionKind::unary, .at = begin, .sign = Operator::logical_not},
                std::move(operand));
}

Result<ExpressionPtr> Parser::comparison() {
    const Position begin = current().at;
    Expression compare = {.kind = ExpressionKind::compare, .at = begin};
    ETNA_TRY(auto first, sum());
    compare.operands.push_back(std::move(first));
    while (true) {
        const auto* sign = std::find_if(std::begin(comparisons), std::end(comparisons),
                                        [&](const auto& each) { return skip(each.first); });
        auto comparison = Comparison::not_in;
        if (sign != std::end(comparisons)) {
            comparison = sign->second;
        } else if (at("not") && is_word(ahead(), "in")) {
            take();
            take();
        } else {
            break;
        }
        ETNA_TRY(auto operand, sum());
        compare.comparisons.push_back(comparison);
        compare.operands.push_back(std::move(operand));
    }
    if (compare.comparisons.empty())
        return std::move(compare.operands.front());
    return make(std::move(compare));
}

Result<ExpressionPtr> Parser::sum() {
    return chain(sums, &Parser::concatenation);
}

Result<ExpressionPtr> Parser::concatenation() {
    const Position begin = current().at;
    Expression parts = {.kind = ExpressionKind::concatenation, .at = begin};
    do {
        ETNA_TRY(auto part, product());
        parts.operands.push_back(std::move(part));
    } while (skip("~"));
    if (parts.operands.size() == 1)
        return std::move(parts.operands.front());
    return make(std::move(parts));
}

Result<ExpressionPtr> Parser::product() {
    ETNA_TRY(auto result, chain(products, &Parser::filtered_operand));
    if (at("**"))
        return refusal(current().at, "operator", "**");
    return result;
}

Result<ExpressionPtr> Parser::unary(Postfix postfix_parts) {
    const DepthGuard guard(nesting_);
    ETNA_CHECK(check_nesting());
    const Position begin = current().at;
    ExpressionPtr node;
    if (at("-") || at("+")) {
        const auto sign = take().text == "-" ? Operator::negate : Operator::plus;
        ETNA_TRY(auto operand, unary(Postfix::without_filters));
        ETNA_TRY(node, make({.kind = ExpressionKind::unary, .at = begin, .sign = sign}, std::move(operand)));
    } else {
        ETNA_TRY(node, primary());
    }
    ETNA_TRY(node, postfix(std::move(node)));
    if (postfix_parts == Postfix::with_filters) {
        ETNA_TRY(node, filters_and_tests(std::move(node)));
    }
    return node;
}

Result<ExpressionPtr> Parser::primary() {
    const Token& token = current();
    const Position begin = token.at;
    if (token.type == TokenType::name) {
        const std::string& name = take().text;
        if (name == "true" || name == "True" || name == "false" || name == "False")
            return make({.at = begin, .value = name == "true" || name == "True"});
        if (name == "none" || name == "None")
            return make({.at = begin, .value = None{}});
        return make({.kind = ExpressionKind::name, .at = begin, .name = name});
    }
    if (token.type == TokenType::string) {
        std::string text;
        while (current().type == TokenType::string) // adjacent literals form one string
            text += take().text;
        return make({.at = begin, .value = text});
    }
    if (token.type == TokenType::integer || token.type == TokenType::real)
        return make({.at = begin, .value = take().number});
    if (skip("(")) {
        ETNA_TRY(auto inside, tuple(Conditions::allowed, {}, true));
        ETNA_CHECK(expect(")"));
        return inside;
    }
    if (at("["))
        return list_literal();
    if (at("{"))
        return dict_literal();
    return unexpected({});
}

Result<ExpressionPtr> Parser::list_literal() {
    const Position begin = take().at;
    Expression list = {.kind = ExpressionKind::list, .at = begin};
    ETNA_CHECK(separated("]", TrailingComma::allowed, [&]() -> Status {
        ETNA_TRY(auto item, expression());
        list.operands.push_back(std::move(item));
        return {};
    }));
    return make(std::move(list));
}

Result<ExpressionPtr> Parser::dict_literal() {
    const Position begin = take().at;
    Expression dict = {.kind = ExpressionKind::dict, .at = begin};
    const auto add_entry = [&]() -> Status {
        ETNA_TRY(auto key, expression());
        ETNA_CHECK(expect(":"));
        ETNA_TRY(auto value, expression());
        dict.operands.push_back(std::move(key));
        dict.operands.push_back(std::move(value));
        return {};
    };
    ETNA_CHECK(separated("}", TrailingComma::allowed, add_entry));
    return make(std::move(dict));
}

Result<ExpressionPtr> Parser::call(ExpressionPtr callee) {
    Expression node = {.kind = ExpressionKind::call, .at = current().at};
    node.operands.push_back(std::move(callee));
    ETNA_CHECK(call_arguments(node));
    return make(std::move(node));
}

Result<ExpressionPtr> Parser::postfix(ExpressionPtr operand) {
    while (true) {
        if (at(".") || at("[")) {
            ETNA_TRY(operand, subscript(std::move(operand)));
        } else if (at("(")) {
            ETNA_TRY(operand, call(std::move(operand)));
        } else {
            return operand;
        }
    }
}

Result<ExpressionPtr> Parser::filters_and_tests(ExpressionPtr operand) {
    while (true) {
        if (at("|")) {
            ETNA_TRY(operand, filter_chain(std::move(operand), false));
        } else if (at("is")) {
            ETNA_TRY(operand, test(std::move(operand)));
        } else if (at("(")) {
            ETNA_TRY(operand, call(std::move(operand)));
        } else {
            return operand;
        }
    }
}

Result<ExpressionPtr> Parser::subscript(ExpressionPtr operand) {
    const Position begin = current().at;
    if (take().text == ".") {
        const Token& name = take();
        if (name.type == TokenType::name)
            return make({.kind = ExpressionKind::attribute, .at = begin, .name = name.text},
                        std::move(operand));
        if (name.type != TokenType::integer)
            return syntax_error(name.at, "expected name or number");
        ETNA_TRY(auto index, make({.at = name.at, .value = name.number}));
        return make({.kind = ExpressionKind::subscript, .at = begin}, std::move(operand), std::move(index));
    }
    ETNA_TRY(auto index, this->index());
    ETNA_CHECK(expect("]"));
    return make({.kind = ExpressionKind::subscript, .at = begin}, std::move(operand), std::move(index));
}

/// Parses the key, or the slice, between the brackets of a subscript.
Result<ExpressionPtr> Parser::index() {
    const Position begin = current().at;
    ExpressionPtr start;
    ExpressionPtr stop;
    ExpressionPtr step;
    if (!at(":")) {
        ETNA_TRY(start, expression());
        if (!at(":"))
            return start;
    }
    take();
    if (!at(":") && !at("]")) {
        ETNA_TRY(stop, expression());
    }
    if (skip(":") && !at("]")) {
        ETNA_TRY(step, expression());
    }
    return make({.kind = ExpressionKind::slice, .at = begin}, std::move(start), std::move(stop),
                std::move(step));
}

/// Parses a chain of filters. `operand` is null for the first filter of a block.
Result<ExpressionPtr> Parser::filter_chain(ExpressionPtr operand, bool starts_with_name) {
    while (starts_with_name || skip("|")) {
        starts_with_name = false;
        Expression filter = {.kind = ExpressionKind::filter, .at = current().at};
        ETNA_TRY(filter.name, expect_name());
        filter.operands.push_back(std::move(operand));
        if (at("("))
            ETNA_CHECK(call_arguments(filter));
        ETNA_TRY(operand, make(std::move(filter)));
    }
    return operand;
}

Result<ExpressionPtr> Parser::test(ExpressionPtr operand) {
    const Position begin = take().at;
    const bool is_negated = skip("not");
    Expression test = {.kind = ExpressionKind::test, .at = begin};
    ETNA_TRY(test.name, expect_name());
    test.operands.push_back(std::move(operand));
    const bool is_operand = at(TokenType::string) || at(TokenType::integer) || at(TokenType::real) ||
                            at("[") || at("{") ||
                            (at(TokenType::name) && !at("else") && !at("or") && !at("and"));
    if (at("(")) {
        ETNA_CHECK(call_arguments(test));
    } else if (is_operand) {
        if (at("is"))
            return syntax_error(current().at, "You cannot chain multiple tests with is");
        ETNA_TRY(auto argument, primary());
        ETNA_TRY(argument, postfix(std::move(argument)));
        test.operands.push_back(std::move(argument));
        test.arguments.emplace_back();
    }
    ETNA_TRY(auto node, make(std::move(test)));
    if (!is_negated)
        return node;
    return make({.kind = ExpressionKind::unary, .at = begin, .sign = Operator::logical_not}, std::move(node));
}

Status Parser::call_arguments(Expression& out) {
    const Position begin = take().at;
    return separated(")", TrailingComma::allowed, [&] { return call_argument(out, begin); });
}

Status Parser::call_argument(Expression& out, Position begin) {
    if (at("*") || at("**"))
        return refusal(current().at, "argument", current().text);
    std::string keyword;
    if (at(TokenType::name) && is_word(ahead(), "=")) {
        keyword = take().text;
        take();
    }
    ETNA_TRY(auto value, expression());
    const auto& earlier = out.arguments;
    if (!keyword.empty() && std::find(earlier.begin(), earlier.end(), keyword) != earlier.end())
        return syntax_error(begin, fmt::format("keyword argument repeated: {}", keyword));
    if (keyword.empty() && !earlier.empty() && !earlier.back().empty())
        return syntax_error(begin, "invalid syntax for function call expression");
    out.operands.push_back(std::move(value));
    out.arguments.push_back(std::move(keyword));
    return {};
}

} // namespace etna::jinja
