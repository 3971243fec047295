// Parser: tokens and statements, {% %}.

#include "core/jinja/parser.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::jinja {
namespace {

std::string description(const Token& token) {
    constexpr std::string_view names[] = {"template data / text",
                                          "begin of statement block",
                                          "end of statement block",
                                          "begin of print statement",
                                          "end of print statement",
                                          "name",
                                          "string",
                                          "integer",
                                          "float",
                                          "sign",
                                          "end of template"};
    const bool is_word =
        (token.type == TokenType::name || token.type == TokenType::sign) && !token.text.empty();
    return is_word ? token.text : std::string(names[static_cast<std::size_t>(token.type)]);
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

Status Parser::check_nesting() const {
    if (nesting_ <= limits_.nesting * 2) // a bracket takes two levels: expression and primary
        return {};
    return limit_error("template: {}: more than {} levels of nesting", to_string(current().at),
                       limits_.nesting);
}

bool Parser::skip(std::string_view word) {
    const bool is_there = at(word);
    if (is_there)
        take();
    return is_there;
}

Error Parser::unexpected(std::string_view expected) const {
    if (expected.empty())
        return syntax_error(current().at, fmt::format("unexpected '{}'", description(current())));
    if (at(TokenType::end))
        return syntax_error(current().at, fmt::format("unexpected end of template, expected '{}'", expected));
    return syntax_error(current().at,
                        fmt::format("expected token '{}', got '{}'", expected, description(current())));
}

Status Parser::expect(std::string_view word) {
    return skip(word) ? Status() : unexpected(word);
}

Status Parser::expect(TokenType type) {
    if (!at(type))
        return unexpected(description({.type = type}));
    take();
    return {};
}

Result<std::string> Parser::expect_name() {
    if (!at(TokenType::name))
        return unexpected("name");
    return take().text;
}

Result<Block> Parser::block(Names ends) {
    skip(":");
    ETNA_CHECK(expect(TokenType::block_end));
    const DepthGuard guard(nesting_);
    ETNA_CHECK(check_nesting());
    expected_ends_.push_back(ends);
    ETNA_TRY(auto body, statements(ends));
    if (at(TokenType::end)) {
        return syntax_error(current().at,
                            fmt::format("Unexpected end of template. Jinja was looking for the following "
                                        "tags: '{}'. The innermost block that needs to be closed is '{}'.",
                                        fmt::join(ends, "' or '"), open_tags_.back()));
    }
    expected_ends_.pop_back();
    return body;
}

Result<Block> Parser::block_until(std::string_view end) {
    ETNA_TRY(auto body, block({end}));
    take();
    return body;
}

/// Parses statements up to the end of the template or one of the end tags, whose word is then the current
/// token.
Result<Block> Parser::statements(const Names& ends) {
    Block body;
    while (!at(TokenType::end)) {
        const Position begin = current().at;
        if (at(TokenType::data)) {
            body.statements.push_back(
                std::make_unique<Statement>(Statement{.at = begin, .text = take().text}));
        } else if (at(TokenType::variable_begin)) {
            take();
            ETNA_TRY(auto printed, tuple());
            ETNA_CHECK(expect(TokenType::variable_end));
            body.statements.push_back(std::make_unique<Statement>(Statement{.at = begin}));
            body.statements.back()->expressions.push_back(std::move(printed));
        } else {
            ETNA_CHECK(expect(TokenType::block_begin));
            if (at(TokenType::name) && contains(ends, current().text))
                return body;
            ETNA_CHECK(statement(body));
            ETNA_CHECK(expect(TokenType::block_end));
        }
    }
    return body;
}

Status Parser::statement(Block& out) {
    constexpr std::pair<std::string_view, StatementKind> tags[] = {
        {"if", StatementKind::choice},        {"for", StatementKind::loop},
        {"set", StatementKind::assignment},   {"macro", StatementKind::macro},
        {"call", StatementKind::call},        {"filter", StatementKind::filter},
        {"with", StatementKind::with},        {"generation", StatementKind::generation},
        {"break", StatementKind::break_loop}, {"continue", StatementKind::continue_loop}};
    if (!at(TokenType::name))
        return syntax_error(current().at, "tag name expected");
    const Token tag = take();
    const auto* known = std::find_if(std::begin(tags), std::end(tags),
                                     [&](const auto& each) { return each.first == tag.text; });
    if (known == std::end(tags))
        return unknown_tag(tag);
    Statement result = {.kind = known->second, .at = tag.at};
    open_tags_.push_back(tag.text);
    switch (result.kind) {
    case StatementKind::choice:
        ETNA_CHECK(if_statement(result));
        break;
    case StatementKind::loop:
        ETNA_CHECK(for_statement(result));
        break;
    case StatementKind::assignment:
        ETNA_CHECK(set_statement(result));
        break;
    case StatementKind::macro: {
        ETNA_TRY(result.text, expect_name());
        ETNA_CHECK(signature(result));
        ETNA_CHECK(add_block(result, "endmacro"));
        break;
    }
    case StatementKind::call:
        ETNA_CHECK(call_statement(result));
        break;
    case StatementKind::with:
        ETNA_CHECK(with_statement(result));
        break;
    case StatementKind::filter: {
        ETNA_TRY(auto filters, filter_chain(nullptr, true));
        result.expressions.push_back(std::move(filters));
        ETNA_CHECK(add_block(result, "endfilter"));
        break;
    }
    case StatementKind::generation:
        ETNA_CHECK(add_block(result, "endgeneration"));
        break;
    default:
        break;
    }
    open_tags_.pop_back();
    out.statements.push_back(std::make_unique<Statement>(std::move(result)));
    return {};
}

/// An end tag, or else and elif, in the wrong position is a syntax error; etna does not have any other tag.
Error Parser::unknown_tag(const Token& tag) const {
    if (tag.text.compare(0, 3, "end") != 0 && tag.text != "else" && tag.text != "elif")
        return refusal(tag.at, "tag", tag.text);
    std::string message = fmt::format("Encountered unknown tag '{}'.", tag.text);
    if (!expected_ends_.empty()) {
        message += fmt::format(" Jinja was looking for the following tags: '{}'. The innermost block that "
                               "needs to be closed is '{}'.",
                               fmt::join(expected_ends_.back(), "' or '"), open_tags_.back());
    }
    return syntax_error(tag.at, message);
}

Status Parser::add_block(Statement& out, std::string_view end) {
    ETNA_TRY(auto body, block_until(end));
    out.blocks.push_back(std::move(body));
    return {};
}

Status Parser::if_statement(Statement& out) {
    std::string word = "elif";
    while (word == "elif") {
        ETNA_TRY(auto test, tuple(Conditions::ignored));
        out.expressions.push_back(std::move(test));
        ETNA_TRY(auto body, block({"elif", "else", "endif"}));
        out.blocks.push_back(std::move(body));
        word = take().text;
    }
    if (word == "else")
        return add_block(out, "endif");
    out.blocks.emplace_back();
    return {};
}

Status Parser::for_statement(Statement& out) {
    ETNA_TRY(auto assigned, target(Attributes::refused));
    out.targets.push_back(std::move(assigned));
    ETNA_CHECK(expect("in"));
    ETNA_TRY(auto items, tuple(Conditions::ignored, "recursive"));
    ExpressionPtr test;
    if (skip("if")) {
        ETNA_TRY(test, expression());
    }
    out.expressions.push_back(std::move(items));
    out.expressions.push_back(std::move(test));
    if (at("recursive"))
        return refusal(current().at, "loop modifier", "recursive");
    ETNA_TRY(auto body, block({"endfor", "else"}));
    out.blocks.push_back(std::move(body));
    if (take().text == "else")
        return add_block(out, "endfor");
    out.blocks.emplace_back();
    return {};
}

Status Parser::set_statement(Statement& out) {
    ETNA_TRY(auto assigned, target(Attributes::allowed));
    out.targets.push_back(std::move(assigned));
    const bool has_value = skip("=");
    ETNA_TRY(auto value, has_value ? tuple() : filter_chain(nullptr, false));
    out.expressions.push_back(std::move(value));
    if (has_value)
        return {};
    out.kind = StatementKind::capture;
    return add_block(out, "endset");
}

/// Parses a name, a namespace attribute, or a tuple in brackets.
Result<Target> Parser::target_part(Attributes attributes) {
    const DepthGuard guard(nesting_);
    ETNA_CHECK(check_nesting());
    Target result = {.at = current().at};
    if (skip("(")) {
        ETNA_TRY(result, target(attributes));
        ETNA_CHECK(expect(")"));
        return result;
    }
    ETNA_TRY(result.name, expect_name());
    if (contains({"true", "false", "none", "True", "False", "None"}, result.name))
        return syntax_error(result.at, "can't assign to 'const'");
    if (attributes == Attributes::allowed && skip(".")) {
        ETNA_TRY(result.attribute, expect_name());
    }
    return result;
}

Result<Target> Parser::target(Attributes attributes) {
    ETNA_TRY(auto first, target_part(attributes));
    if (!at(","))
        return first;
    Target result = {.at = first.at, .is_tuple = true};
    result.parts.push_back(std::move(first));
    while (skip(",")) {
        if (at(")") || at(TokenType::block_end))
            break;
        ETNA_TRY(auto part, target_part(attributes));
        result.parts.push_back(std::move(part));
    }
    return result;
}

Status Parser::signature(Statement& out) {
    ETNA_CHECK(expect("("));
    return separated(")", TrailingComma::refused, [&]() -> Status {
        Target parameter = {.at = current().at};
        ETNA_TRY(parameter.name, expect_name());
        ExpressionPtr fallback;
        if (skip("=")) {
            ETNA_TRY(fallback, expression());
        } else if (!out.expressions.empty() && out.expressions.back() != nullptr) {
            return syntax_error(parameter.at, "non-default argument follows default argument");
        }
        for (const Target& other : out.targets) {
            if (other.name == parameter.name)
                return syntax_error(parameter.at, fmt::format("duplicate argument '{}'", parameter.name));
        }
        out.targets.push_back(std::move(parameter));
        out.expressions.push_back(std::move(fallback));
        return {};
    });
}

Status Parser::call_statement(Statement& out) {
    if (at("("))
        ETNA_CHECK(signature(out));
    const Position begin = current().at;
    ETNA_TRY(out.call, expression());
    if (out.call->kind != ExpressionKind::call)
        return syntax_error(begin, "expected call");
    return add_block(out, "endcall");
}

Status Parser::with_statement(Statement& out) {
    while (!at(TokenType::block_end)) {
        if (!out.targets.empty())
            ETNA_CHECK(expect(","));
        ETNA_TRY(auto assigned, target(Attributes::refused));
        ETNA_CHECK(expect("="));
        ETNA_TRY(auto value, expression());
        out.targets.push_back(std::move(assigned));
        out.expressions.push_back(std::move(value));
    }
    return add_block(out, "endwith");
}

Result<Block> parse(std::string_view source, const Limits& limits) {
    if (source.size() > limits.template_bytes)
        return limit_error("template: {} bytes long; the limit is {}", source.size(), limits.template_bytes);
    ETNA_TRY(auto tokens, tokenize(source));
    ETNA_TRY(auto tree, Parser(std::move(tokens), limits).parse());
    ETNA_CHECK(analyse(tree));
    return tree;
}

} // namespace etna::jinja
