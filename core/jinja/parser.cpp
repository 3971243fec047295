#include "core/jinja/parser.hpp"

#include "core/jinja/analysis.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/parser_private.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::jinja {
namespace {

std::string description(const Token& token) {
    switch (token.type) {
    case TokenType::name:
    case TokenType::sign:
        return token.text;
    case TokenType::data:
        return "template data / text";
    case TokenType::block_begin:
        return "begin of statement block";
    case TokenType::block_end:
        return "end of statement block";
    case TokenType::variable_begin:
        return "begin of print statement";
    case TokenType::variable_end:
        return "end of print statement";
    case TokenType::string:
        return "string";
    case TokenType::integer:
        return "integer";
    case TokenType::real:
        return "float";
    case TokenType::end:
        return "end of template";
    }
    return {};
}

std::string quoted_alternatives(const std::vector<std::string>& names) {
    return fmt::format("'{}'", fmt::join(names, "' or '"));
}

} // namespace

Status Parser::Level::check() const {
    if (parser_.nesting_ <= parser_.limits_.nesting * 2) // a bracket takes two levels: expression and primary
        return {};
    return limit_error(fmt::format("template: {}: more than {} levels of nesting",
                                   to_string(parser_.current().at), parser_.limits_.nesting));
}

bool Parser::skip_sign(std::string_view sign) {
    if (!at_sign(sign))
        return false;
    take();
    return true;
}

bool Parser::skip_name(std::string_view name) {
    if (!at_name(name))
        return false;
    take();
    return true;
}

Error Parser::unexpected(std::string_view wanted) const {
    if (wanted.empty())
        return syntax_error(current().at, fmt::format("unexpected '{}'", description(current())));
    if (current().type == TokenType::end)
        return syntax_error(current().at, fmt::format("unexpected end of template, expected '{}'", wanted));
    return syntax_error(current().at,
                        fmt::format("expected token '{}', got '{}'", wanted, description(current())));
}

Status Parser::expect_sign(std::string_view sign) {
    return skip_sign(sign) ? Status() : unexpected(sign);
}

Status Parser::expect_name(std::string_view name) {
    return skip_name(name) ? Status() : unexpected(name);
}

Status Parser::expect(TokenType type) {
    if (current().type != type)
        return unexpected(description({.type = type}));
    take();
    return {};
}

Result<std::string> Parser::expect_any_name() {
    if (current().type != TokenType::name)
        return unexpected("name");
    return take().text;
}

Result<Block> Parser::block(Tags end) {
    skip_sign(":");
    ETNA_CHECK(expect(TokenType::block_end));
    const Level level(*this);
    ETNA_CHECK(level.check());
    awaited_.emplace_back(end.begin(), end.end());
    ETNA_TRY(auto body, statements(end));
    if (current().type == TokenType::end)
        return missing_end();
    awaited_.pop_back();
    return body;
}

Result<Block> Parser::block_until(std::string_view end) {
    ETNA_TRY(auto body, block({end}));
    take();
    return body;
}

/// Parses statements up to the end or a tag that starts with one of the names, which is then the current
/// token.
Result<Block> Parser::statements(Tags end) {
    Block body;
    while (current().type != TokenType::end) {
        const Position at = current().at;
        if (current().type == TokenType::data) {
            body.push_back(std::make_unique<Statement>(Statement{at, Output{take().text, nullptr}}));
        } else if (current().type == TokenType::variable_begin) {
            take();
            ETNA_TRY(auto printed, tuple(Conditions::allowed, {}, false));
            ETNA_CHECK(expect(TokenType::variable_end));
            body.push_back(std::make_unique<Statement>(Statement{at, Output{{}, std::move(printed)}}));
        } else {
            ETNA_CHECK(expect(TokenType::block_begin));
            if (std::any_of(end.begin(), end.end(), [&](std::string_view name) { return at_name(name); }))
                return body;
            ETNA_CHECK(statement(body));
            ETNA_CHECK(expect(TokenType::block_end));
        }
    }
    return body;
}

Status Parser::statement(Block& out) {
    if (current().type != TokenType::name)
        return syntax_error(current().at, "tag name expected");
    const Token tag = take();
    auto result = std::make_unique<Statement>();
    result->at = tag.at;
    open_tags_.push_back(tag.text);
    if (tag.text == "if") {
        ETNA_TRY(result->node, if_statement());
    } else if (tag.text == "for") {
        ETNA_TRY(result->node, for_statement());
    } else if (tag.text == "set") {
        ETNA_CHECK(set_statement(*result));
    } else if (tag.text == "macro") {
        ETNA_TRY(result->node, macro_statement());
    } else if (tag.text == "call") {
        ETNA_TRY(result->node, call_statement());
    } else if (tag.text == "filter") {
        FilterBlock block;
        ETNA_TRY(block.filter, filter_chain(nullptr, true));
        ETNA_TRY(block.body, block_until("endfilter"));
        result->node = std::move(block);
    } else if (tag.text == "with") {
        ETNA_TRY(result->node, with_statement());
    } else if (tag.text == "generation") {
        Generation generation;
        ETNA_TRY(generation.body.body, block_until("endgeneration"));
        result->node = std::move(generation);
    } else if (tag.text == "autoescape") {
        Autoescape autoescape;
        ETNA_TRY(autoescape.wanted, expression());
        ETNA_TRY(autoescape.body, block_until("endautoescape"));
        result->node = std::move(autoescape);
    } else if (tag.text == "block") {
        ETNA_TRY(result->node, block_statement());
        blocks_.push_back(&std::get<NamedBlock>(result->node));
    } else if (tag.text == "print") {
        ETNA_CHECK(print_statement(out));
        open_tags_.pop_back();
        return {};
    } else if (tag.text == "break") {
        result->node = Break{};
    } else if (tag.text == "continue") {
        result->node = Continue{};
    } else if (tag.text == "include" || tag.text == "import" || tag.text == "from" || tag.text == "extends") {
        ETNA_TRY(result->node, load_statement());
    } else {
        open_tags_.pop_back();
        return unknown_tag(tag);
    }
    open_tags_.pop_back();
    out.push_back(std::move(result));
    return {};
}

Error Parser::unknown_tag(const Token& tag) const {
    std::string message = fmt::format("Encountered unknown tag '{}'.", tag.text);
    if (!awaited_.empty()) {
        const bool is_awaited = std::any_of(awaited_.begin(), awaited_.end(), [&](const auto& names) {
            return std::find(names.begin(), names.end(), tag.text) != names.end();
        });
        message += is_awaited ? " You probably made a nesting mistake. Jinja is expecting this tag, but "
                                "currently looking for "
                              : " Jinja was looking for the following tags: ";
        message += quoted_alternatives(awaited_.back()) + ".";
    }
    if (!open_tags_.empty())
        message += fmt::format(" The innermost block that needs to be closed is '{}'.", open_tags_.back());
    return syntax_error(tag.at, message);
}

Error Parser::missing_end() const {
    return syntax_error(current().at,
                        fmt::format("Unexpected end of template. Jinja was looking for the following tags: "
                                    "{}. The innermost block that needs to be closed is '{}'.",
                                    quoted_alternatives(awaited_.back()), open_tags_.back()));
}

Result<Tree> Parser::parse() {
    Tree tree;
    ETNA_TRY(tree.body, statements({}));
    tree.blocks = std::move(blocks_);
    return tree;
}

Result<Tree> parse(std::string_view source, const Limits& limits) {
    if (source.size() > limits.template_bytes) {
        return limit_error(
            fmt::format("template: {} bytes long; {} is the most", source.size(), limits.template_bytes));
    }
    ETNA_TRY(auto tokens, tokenize(source));
    ETNA_TRY(auto tree, Parser(std::move(tokens), limits).parse());
    ETNA_CHECK(analyse(tree));
    return tree;
}

} // namespace etna::jinja
