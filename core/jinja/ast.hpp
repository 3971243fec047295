#pragma once

#include "core/base/result.hpp"
#include "core/jinja/value.hpp"

#include <memory>
#include <string>
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

enum class ExpressionKind : uint8_t {
    constant,      ///< `value`
    name,          ///< the variable `name`
    list,          ///< all operands
    tuple,         ///< all operands
    dict,          ///< keys and values in turn
    unary,         ///< `sign` on one operand
    binary,        ///< `sign` on two operands
    compare,       ///< a < b < c: comparisons[i] is between the operands i and i + 1
    concatenation, ///< a ~ b ~ c
    condition,     ///< `b if a else c`: a, b and c, which may be null
    attribute,     ///< operand.name
    subscript,     ///< operand[index]
    slice,         ///< start, stop and step, each may be null
    call,          ///< the callee and the arguments
    filter,        ///< the operand (null: a block's text) and the arguments of the filter `name`
    test,          ///< the operand and the arguments of the test `name`
};

enum class Operator : uint8_t {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    logical_and,
    logical_or,
    negate,
    plus,
    logical_not
};

enum class Comparison : uint8_t { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };

struct Expression {
    ExpressionKind kind = ExpressionKind::constant;
    Position at = {};
    Value value = {};
    std::string name = {};
    Operator sign = Operator::add;
    std::vector<Comparison> comparisons = {};
    std::vector<ExpressionPtr> operands = {};
    std::vector<std::string> arguments = {}; ///< keyword of each operand after the first; empty: positional
    std::size_t height = 0;                  ///< levels of expressions below this one
};

/// Target of an assignment: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
    Position at = {};
    std::string name = {};          ///< empty for a tuple
    std::string attribute = {};     ///< of the namespace `name`, or empty
    std::vector<Target> parts = {}; ///< of a tuple
    bool is_tuple = false;
};

struct Block {
    std::vector<std::unique_ptr<Statement>> statements;
    /// Names that a scope with this body assigns before it reads them: undefined until then, even if an outer
    /// scope defines them. Set by analyse().
    std::vector<std::string> hidden;
};

enum class StatementKind : uint8_t {
    output,     ///< `text`, or the value of an expression
    choice,     ///< if: each expression guards the block of the same index; the last block is else
    loop,       ///< for: the target, the items, the condition (may be null), the body and else
    assignment, ///< set: the target and its value
    capture,    ///< set without a value: the target, filters (may be null) and the block
    macro,      ///< the macro `text`: parameters as targets, their defaults (may be null) and the body
    call,       ///< as a macro without a name, and `call`
    filter,     ///< the filters and the block
    with,       ///< targets, their values and the block
    generation, ///< a block that is run as a macro without parameters
    break_loop,
    continue_loop,
};

struct Statement {
    StatementKind kind = StatementKind::output;
    Position at = {};
    std::string text = {};
    std::vector<Target> targets = {};
    std::vector<ExpressionPtr> expressions = {};
    std::vector<Block> blocks = {};
    ExpressionPtr call = {};
    bool uses_caller = false; ///< of a macro: it reads `caller`, no parameter; set by analyse()
};

/// Analyses a parsed template as the reference compiler does and fills in the fields that it names. Error:
/// corrupt (an unknown or refused builtin, `break` outside a loop, assignment to `loop`).
Status analyse(Block& tree);

} // namespace etna::jinja
