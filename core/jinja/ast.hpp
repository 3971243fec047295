#pragma once

#include "core/jinja/value.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Syntax tree of a template. Names follow Jinja's documentation.
namespace etna::jinja {

/// Position in the template's text, counted from 1; columns count code points.
struct Position {
    uint32_t line = 1;
    uint32_t column = 1;
};

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Block = std::vector<std::unique_ptr<Statement>>;

// ---- expressions

struct Constant {
    Value value;
};
struct Name {
    std::string name;
};
struct Sequence {
    std::vector<ExpressionPtr> items;
    bool is_tuple = false;
};
struct DictLiteral {
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
enum class UnaryOperator : uint8_t { negate, plus, logical_not };
struct Unary {
    UnaryOperator sign;
    ExpressionPtr operand;
};
enum class BinaryOperator : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
struct Binary {
    BinaryOperator sign;
    ExpressionPtr left;
    ExpressionPtr right;
};
enum class LogicOperator : uint8_t { both, either };
struct Logic {
    LogicOperator sign;
    ExpressionPtr left;
    ExpressionPtr right;
};
enum class Comparison : uint8_t { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };
struct Compare {
    ExpressionPtr first;
    std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};
struct Concatenation {
    std::vector<ExpressionPtr> parts;
};
struct Condition {
    ExpressionPtr test;
    ExpressionPtr then;
    ExpressionPtr otherwise; ///< null if there is no else
};
struct Attribute {
    ExpressionPtr object;
    std::string name;
};
struct Subscript {
    ExpressionPtr object;
    ExpressionPtr index;
};
/// Each part may be null.
struct Slice {
    ExpressionPtr start;
    ExpressionPtr stop;
    ExpressionPtr step;
};
struct CallArguments {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> keyword;
    ExpressionPtr more_positional; ///< after *, or null
    ExpressionPtr more_keyword;    ///< after **, or null
};
struct Call {
    ExpressionPtr callee;
    CallArguments arguments;
};
/// A filter; `operand` is null if the filter applies to a block's text.
struct Filter {
    ExpressionPtr operand;
    std::string name;
    CallArguments arguments;
};
struct Test {
    ExpressionPtr operand;
    std::string name;
    CallArguments arguments;
};

struct Expression {
    Position at;
    std::size_t height = 0; ///< levels of expressions below this one
    std::variant<Constant, Name, Sequence, DictLiteral, Unary, Binary, Logic, Compare, Concatenation,
                 Condition, Attribute, Subscript, Slice, Call, Filter, Test>
        node;
};

// ---- statements

/// Target of an assignment: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
    Position at = {};
    std::string name = {};          ///< empty for a tuple
    std::string attribute = {};     ///< of the namespace `name`, or empty
    std::vector<Target> parts = {}; ///< of a tuple
    bool is_tuple = false;
};

/// Names that a scope assigns before it reads them: undefined until then, even if an outer scope defines
/// them.
using Hidden = std::vector<std::string>;

struct Output {
    std::string text;         ///< template data, or
    ExpressionPtr expression; ///< the printed expression; null for template data
};
struct If {
    std::vector<std::pair<ExpressionPtr, Block>> branches;
    Block otherwise;
};
struct For {
    Target target;
    ExpressionPtr iterable;
    ExpressionPtr test; ///< or null
    bool is_recursive = false;
    Block body;
    Block otherwise;
    bool uses_loop = false; ///< set by analyse(), as are the fields below
    Hidden hidden;
    Hidden hidden_otherwise;
};
struct Set {
    Target target;
    ExpressionPtr value;
};
struct SetBlock {
    Target target;
    ExpressionPtr filter; ///< chain of Filter around a null operand, or null
    Block body;
    Hidden hidden;
};
struct Parameter {
    Position at = {};
    std::string name = {};
    ExpressionPtr fallback = {}; ///< or null
};
struct Macro {
    std::string name; ///< empty for the body of a call block
    std::vector<Parameter> parameters;
    Block body;
    bool uses_caller = false; ///< set by analyse(), as are the fields below
    bool uses_keywords = false;
    bool uses_varargs = false;
    Hidden hidden;
};
struct CallBlock {
    Macro body;
    ExpressionPtr call; ///< a Call
};
struct FilterBlock {
    ExpressionPtr filter;
    Block body;
    Hidden hidden;
};
struct With {
    std::vector<Target> targets;
    std::vector<ExpressionPtr> values;
    Block body;
    Hidden hidden;
};
/// `generation`: a macro without parameters, called in place.
struct Generation {
    Macro body;
};
/// `autoescape`: sets whether output inside is HTML-escaped.
struct Autoescape {
    ExpressionPtr wanted;
    Block body;
    Hidden hidden;
};
/// `block`: rendered in place and by self.name(). Unless it is scoped, it sees only the variables of the
/// template's top level.
struct NamedBlock {
    std::string name;
    bool is_scoped = false;
    bool is_required = false; ///< requires a child template to override it, which is not supported
    Block body;
    bool uses_self = false; ///< set by analyse(), as are the fields below
    bool uses_super = false;
    Hidden hidden;
};
struct Break {};
struct Continue {};
/// include, import, extends: not supported, because there is nothing to load from.
struct Load {
    ExpressionPtr source;
};

struct Statement {
    Position at;
    std::variant<Output, If, For, Set, SetBlock, Macro, CallBlock, FilterBlock, With, Generation, Autoescape,
                 NamedBlock, Break, Continue, Load>
        node;
};

struct Tree {
    Block body;
    std::vector<const NamedBlock*> blocks; ///< all blocks in `body`, at any depth
    bool uses_self = false;                ///< set by analyse(), as is `hidden`
    Hidden hidden;
};

} // namespace etna::jinja
