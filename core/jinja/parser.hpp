#pragma once

#include "core/jinja/lexer.hpp"
#include "core/jinja/machine.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::jinja {

/// Parses a template. Errors: corrupt (syntax, with the position; unknown or refused tag, filter, test,
/// method or global function), unsupported (a limit of `limits`).
Result<Block> parse(std::string_view source, const Limits& limits);

/// Recursive-descent parser with the precedences and messages of Jinja's own parser.
class Parser {
public:
    Parser(std::vector<Token> tokens, const Limits& limits) : tokens_(std::move(tokens)), limits_(limits) {}

    Result<Block> parse() { return statements({}); }

private:
    using Names = std::vector<std::string_view>;
    using Operand = Result<ExpressionPtr> (Parser::*)();
    enum class Conditions : uint8_t { allowed, ignored };    ///< whether `a if b else c` is parsed
    enum class Attributes : uint8_t { refused, allowed };    ///< whether `name.attribute` may be assigned
    enum class TrailingComma : uint8_t { refused, allowed }; ///< before a closing bracket
    enum class Postfix : uint8_t { without_filters, with_filters }; ///< what follows an operand

    // Tokens. A word is the text of a name or a sign.
    [[nodiscard]] const Token& current() const { return tokens_[next_]; }
    [[nodiscard]] const Token& ahead() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
    const Token& take() { return tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]; }
    static bool is_word(const Token& token, std::string_view word) {
        return (token.type == TokenType::name || token.type == TokenType::sign) && token.text == word;
    }
    [[nodiscard]] bool at(std::string_view word) const { return is_word(current(), word); }
    [[nodiscard]] bool at(TokenType type) const { return current().type == type; }
    bool skip(std::string_view word);
    Status expect(std::string_view word);
    Status expect(TokenType type);
    Result<std::string> expect_name();
    /// Parses parts separated by commas up to `end`, and consumes it.
    template <class Part>
    Status separated(std::string_view end, TrailingComma comma, const Part& parse_part);
    [[nodiscard]] Error unexpected(std::string_view expected) const;
    [[nodiscard]] Status check_nesting() const;

    // statements
    /// Parses from the end of a tag's head to one of the end tags, whose word is then the current token.
    Result<Block> block(Names ends);
    Result<Block> block_until(std::string_view end); ///< as block(), and consumes the word
    Result<Block> statements(const Names& ends);
    Status statement(Block& out);
    [[nodiscard]] Error unknown_tag(const Token& tag) const;
    Status if_statement(Statement& out);
    Status for_statement(Statement& out);
    Status set_statement(Statement& out);
    Status call_statement(Statement& out);
    Status with_statement(Statement& out);
    Status signature(Statement& out); ///< parameters and their defaults
    Status add_block(Statement& out, std::string_view end);
    Result<Target> target(Attributes attributes);
    Result<Target> target_part(Attributes attributes);

    // expressions
    Result<ExpressionPtr> expression(Conditions conditions = Conditions::allowed);
    Result<ExpressionPtr> tuple(Conditions conditions = Conditions::allowed, std::string_view end = {},
                                bool may_be_empty = false);
    Result<ExpressionPtr> condition();
    Result<ExpressionPtr> chain(std::span<const std::pair<std::string_view, Operator>> signs,
                                Operand parse_operand);
    Result<ExpressionPtr> logic_or();
    Result<ExpressionPtr> logic_and();
    Result<ExpressionPtr> logic_not();
    Result<ExpressionPtr> comparison();
    Result<ExpressionPtr> sum();
    Result<ExpressionPtr> concatenation();
    Result<ExpressionPtr> product();
    Result<ExpressionPtr> filtered_operand() { return unary(Postfix::with_filters); }
    Result<ExpressionPtr> unary(Postfix postfix);
    Result<ExpressionPtr> primary();
    Result<ExpressionPtr> list_literal();
    Result<ExpressionPtr> dict_literal();
    Result<ExpressionPtr> postfix(ExpressionPtr operand);
    Result<ExpressionPtr> filters_and_tests(ExpressionPtr operand);
    Result<ExpressionPtr> call(ExpressionPtr callee);
    Result<ExpressionPtr> subscript(ExpressionPtr operand);
    Result<ExpressionPtr> index();
    Result<ExpressionPtr> filter_chain(ExpressionPtr operand, bool starts_with_name);
    Result<ExpressionPtr> test(ExpressionPtr operand);
    Status call_arguments(Expression& out);
    Status call_argument(Expression& out, Position begin);
    /// Adds the operands to the node.
    template <class... Operands>
    Result<ExpressionPtr> make(Expression node, Operands... operands) const;

    std::vector<Token> tokens_;
    const Limits& limits_; ///< borrowed
    std::size_t next_ = 0;
    std::size_t nesting_ = 0;
    std::vector<std::string> open_tags_;
    std::vector<Names> expected_ends_; ///< end tags of the open blocks
};

template <class Part>
Status Parser::separated(std::string_view end, TrailingComma comma, const Part& parse_part) {
    for (bool is_first = true; !skip(end); is_first = false) {
        if (!is_first)
            ETNA_CHECK(expect(","));
        if (!is_first && comma == TrailingComma::allowed && skip(end))
            return {};
        ETNA_CHECK(parse_part());
    }
    return {};
}

} // namespace etna::jinja
