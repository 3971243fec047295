#pragma once

#include "core/jinja/lexer.hpp"
#include "core/jinja/limits.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace etna::jinja {

enum class Conditions : uint8_t { allowed, left_alone }; ///< whether `a if b else c` is parsed

enum class Attributes : uint8_t { refused, allowed }; ///< whether `name.attribute` may be assigned

/// Recursive-descent parser with the precedences and messages of Jinja's own parser.
class Parser {
public:
    Parser(std::vector<Token> tokens, const Limits& limits) : tokens_(std::move(tokens)), limits_(limits) {}

    Result<Tree> parse();

private:
    using Tags = std::initializer_list<std::string_view>;

    /// One level of nesting, for the lifetime of the object.
    class Level {
    public:
        explicit Level(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        ~Level() { --parser_.nesting_; }
        [[nodiscard]] Status check() const;

    private:
        Parser& parser_;
    };

    // tokens
    [[nodiscard]] const Token& current() const { return tokens_[place_]; }
    [[nodiscard]] const Token& ahead() const { return tokens_[std::min(place_ + 1, tokens_.size() - 1)]; }
    const Token& take() { return tokens_[place_ + 1 < tokens_.size() ? place_++ : place_]; }
    [[nodiscard]] bool at_sign(std::string_view sign) const { return is_sign(current(), sign); }
    [[nodiscard]] bool at_name(std::string_view name) const { return is_name(current(), name); }
    bool skip_sign(std::string_view sign);
    bool skip_name(std::string_view name);
    Status expect_sign(std::string_view sign);
    Status expect_name(std::string_view name);
    Status expect(TokenType type);
    Result<std::string> expect_any_name();
    static bool is_sign(const Token& token, std::string_view sign) {
        return token.type == TokenType::sign && token.text == sign;
    }
    static bool is_name(const Token& token, std::string_view name) {
        return token.type == TokenType::name && token.text == name;
    }
    [[nodiscard]] Error unexpected(std::string_view wanted) const;

    // statements
    Result<Block> block(Tags end); ///< from the end of a tag's head to the word of an end tag
    Result<Block> block_until(std::string_view end); ///< as block(), and consumes that word
    Result<Block> statements(Tags end);
    Status statement(Block& out);
    [[nodiscard]] Error unknown_tag(const Token& tag) const;
    [[nodiscard]] Error missing_end() const;
    Result<If> if_statement();
    Result<For> for_statement();
    Status set_statement(Statement& out);
    Result<Macro> macro_statement();
    Result<CallBlock> call_statement();
    Result<With> with_statement();
    Result<NamedBlock> block_statement();
    Status print_statement(Block& out);
    Result<std::vector<Parameter>> signature();
    Result<Target> target(Attributes attributes);
    Result<Target> target_part(Attributes attributes);
    Result<Load> load_statement();

    // expressions
    Result<ExpressionPtr> expression(Conditions conditions = Conditions::allowed);
    Result<ExpressionPtr> tuple(Conditions conditions, std::string_view end_name, bool is_bracketed);
    Result<ExpressionPtr> condition();
    Result<ExpressionPtr> logic_or();
    Result<ExpressionPtr> logic_and();
    Result<ExpressionPtr> logic_not();
    Result<ExpressionPtr> comparison();
    Result<ExpressionPtr> sum();
    Result<ExpressionPtr> concatenation();
    Result<ExpressionPtr> product();
    Result<ExpressionPtr> power();
    Result<ExpressionPtr> unary(bool with_filters);
    Result<ExpressionPtr> primary();
    Result<ExpressionPtr> list_literal();
    Result<ExpressionPtr> dict_literal();
    Result<ExpressionPtr> postfix(ExpressionPtr operand);
    Result<ExpressionPtr> filters_and_tests(ExpressionPtr operand);
    Result<ExpressionPtr> subscript(ExpressionPtr operand);
    Result<ExpressionPtr> subscript_part();
    Result<ExpressionPtr> filter_chain(ExpressionPtr operand, bool starts_with_name);
    Result<ExpressionPtr> test(ExpressionPtr operand);
    Result<CallArguments> call_arguments();
    Status call_argument(CallArguments& arguments, Position at);
    Result<std::string> dotted_name();
    template <class Node>
    Result<ExpressionPtr> make(Position at, Node node) const;

    std::vector<Token> tokens_;
    const Limits& limits_; ///< borrowed
    std::size_t place_ = 0;
    std::size_t nesting_ = 0;
    std::vector<const NamedBlock*> blocks_; ///< in the order of their end tags
    std::vector<std::string> open_tags_;
    std::vector<std::vector<std::string>> awaited_; ///< end tags that the open blocks expect
};

} // namespace etna::jinja
