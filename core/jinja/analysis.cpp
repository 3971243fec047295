// Static checks of a parsed template: scopes and builtins.

#include "core/jinja/ast.hpp"
#include "core/jinja/builtins.hpp"
#include "core/jinja/lexer.hpp"
#include "core/jinja/print.hpp"

#include <optional>
#include <set>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Calls visit(name) for each variable that the target assigns.
template <class Visit>
void for_each_name(const Target& target, const Visit& visit) {
    for (const Target& part : target.parts)
        for_each_name(part, visit);
    if (!target.is_tuple && target.attribute.empty())
        visit(target.name);
}

/// Calls visit() for each expression of a tree, from the outside in.
template <class Visit>
void for_each_node(const ExpressionPtr& expression, const Visit& visit) {
    if (expression == nullptr)
        return;
    visit(*expression);
    for (const ExpressionPtr& operand : expression->operands)
        for_each_node(operand, visit);
}

/// Walks over a block with all inner ones: calls on_name() for each variable that a statement assigns, and
/// on_node() for each expression.
template <class OnName, class OnNode>
void walk(const Block& block, const OnName& on_name, const OnNode& on_node) {
    for (const auto& statement : block.statements) {
        for_each_node(statement->call, on_node);
        for (const Target& target : statement->targets)
            for_each_name(target, on_name);
        for (const ExpressionPtr& expression : statement->expressions)
            for_each_node(expression, on_node);
        for (const Block& inner : statement->blocks)
            walk(inner, on_name, on_node);
        if (statement->kind == StatementKind::macro)
            on_name(statement->text);
    }
}

/// Refuses filters, tests, methods, global functions and format strings that etna does not have.
class BuiltinCheck {
public:
    Status run(const Block& tree) {
        walk(tree, [&](const std::string& name) { assigned_.insert(name); }, [](const Expression&) {});
        walk(tree, [](const std::string&) {}, [&](const Expression& node) { check(node); });
        return failed_ ? Status(*failed_) : Status();
    }

private:
    void refuse(Position at, std::string_view kind, std::string_view name) {
        if (!failed_)
            failed_ = refusal(at, kind, name);
    }
    void check(const Expression& expression);
    void check_filter(const Expression& filter);
    void check_call(const Expression& call);
    void check_format(Position at, std::string_view unsupported) {
        if (!unsupported.empty())
            refuse(at, "format", unsupported);
    }
    /// Whether the name is one of further arguments, which Jinja sets in macros, and the template does not.
    [[nodiscard]] bool is_macro_variable(std::string_view name) const {
        return (name == "kwargs" || name == "varargs") && assigned_.count(name) == 0;
    }
    /// Returns an operand that is a string literal; null if it is not one.
    static const std::string* literal(const Expression& expression, std::size_t index) {
        const auto& operands = expression.operands;
        const bool is_string = index < operands.size() && operands[index] != nullptr &&
                               operands[index]->kind == ExpressionKind::constant &&
                               operands[index]->value.is(Type::string);
        return is_string ? &operands[index]->value.string() : nullptr;
    }

    Names assigned_; ///< variables that the template defines anywhere
    std::optional<Error> failed_;
};

void BuiltinCheck::check(const Expression& expression) {
    const std::string* format = literal(expression, 0);
    if (expression.kind == ExpressionKind::filter) {
        check_filter(expression);
    } else if (expression.kind == ExpressionKind::test && !is_test(expression.name)) {
        refuse(expression.at, "test", expression.name);
    } else if (expression.kind == ExpressionKind::call) {
        check_call(expression);
    } else if (expression.kind == ExpressionKind::name && is_macro_variable(expression.name)) {
        refuse(expression.at, "variable", expression.name);
    } else if (expression.sign == Operator::modulo && format != nullptr) {
        check_format(expression.at, unsupported_percent(*format));
    }
}

/// Also checks the names of filters and tests that map, select and the like take as strings.
void BuiltinCheck::check_filter(const Expression& filter) {
    if (!is_filter(filter.name))
        refuse(filter.at, "filter", filter.name);
    const bool by_attribute = filter.name == "selectattr" || filter.name == "rejectattr";
    const bool has_test = by_attribute || filter.name == "select" || filter.name == "reject";
    const std::size_t index = by_attribute ? 2 : 1;
    const std::string* name = literal(filter, index);
    const bool is_positional = name != nullptr && filter.arguments[index - 1].empty();
    if (is_positional && filter.name == "map" && !is_filter(*name))
        refuse(filter.at, "filter", *name);
    if (is_positional && has_test && !is_test(*name))
        refuse(filter.at, "test", *name);
    const std::string* format = literal(filter, 0);
    if (filter.name == "format" && format != nullptr)
        check_format(filter.at, unsupported_percent(*format));
}

void BuiltinCheck::check_call(const Expression& call) {
    const Expression& callee = *call.operands[0];
    if (callee.kind == ExpressionKind::name && is_refused_function(callee.name) &&
        assigned_.count(callee.name) == 0)
        refuse(call.at, "function", callee.name);
    if (callee.kind != ExpressionKind::attribute)
        return;
    if (is_refused_method(callee.name))
        refuse(call.at, "method", callee.name);
    const std::string* format = literal(callee, 0);
    if (callee.name == "format" && format != nullptr)
        check_format(call.at, unsupported_brace(*format));
}

/// The names that one scope mentions, collected in the order of the reference compiler.
struct Frame {
    const Frame* parent = nullptr;
    Names mentioned = {};
    std::vector<std::string> hidden = {};
    bool in_loop = false;     ///< `break` is allowed
    bool around_loop = false; ///< inside a loop, so that `loop` must not be assigned

    [[nodiscard]] bool knows(std::string_view name) const {
        return mentioned.count(name) > 0 || (parent != nullptr && parent->knows(name));
    }
};

/// Finds the names that each scope hides, and statements in wrong positions.
class ScopeAnalysis {
public:
    Status run(Block& tree) {
        nested(tree, {});
        return failed_ ? Status(*failed_) : Status();
    }

private:
    // First pass over a scope: its own names, without those of inner scopes.
    void mentions(const Block& block, Frame& frame, bool is_conditional);
    static void reads(const ExpressionPtr& expression, Frame& frame);
    void stores(const Target& target, Frame& frame, bool is_conditional);
    static void store_name(const std::string& name, Frame& frame, bool is_conditional);

    // Second pass: loop controls and inner scopes.
    void inner(Block& block, Frame& frame);
    void inner(Statement& statement, Frame& frame);
    void loop(Statement& loop, Frame& frame);
    void macro(Statement& macro, const Frame& frame);
    void nested(Block& block, Frame inside);
    void fail(Position at, std::string_view message) {
        if (!failed_)
            failed_ = syntax_error(at, message);
    }

    std::optional<Error> failed_;
};

void ScopeAnalysis::reads(const ExpressionPtr& expression, Frame& frame) {
    for_each_node(expression, [&](const Expression& node) {
        if (node.kind == ExpressionKind::name && !frame.knows(node.name))
            frame.mentioned.insert(node.name);
    });
}

void ScopeAnalysis::store_name(const std::string& name, Frame& frame, bool is_conditional) {
    if (frame.mentioned.count(name) > 0)
        return;
    if (!is_conditional && !frame.knows(name))
        frame.hidden.push_back(name);
    frame.mentioned.insert(name);
}

void ScopeAnalysis::stores(const Target& target, Frame& frame, bool is_conditional) {
    for (const Target& part : target.parts)
        stores(part, frame, is_conditional);
    if (target.is_tuple)
        return;
    if (!target.attribute.empty()) {
        if (!frame.knows(target.name))
            frame.mentioned.insert(target.name);
        return;
    }
    if (target.name == "loop" && frame.around_loop)
        fail(target.at, "Can't assign to special loop variable in for-loop target");
    store_name(target.name, frame, is_conditional);
}

void ScopeAnalysis::mentions(const Block& block, Frame& frame, bool is_conditional) {
    for (const auto& statement : block.statements) {
        switch (statement->kind) {
        case StatementKind::macro:
            store_name(statement->text, frame, is_conditional);
            break;
        case StatementKind::loop:
            reads(statement->expressions[0], frame);
            break;
        case StatementKind::call:
            reads(statement->call, frame);
            break;
        case StatementKind::capture:
            stores(statement->targets[0], frame, is_conditional);
            break;
        default:
            for (std::size_t i = 0; i < statement->expressions.size(); ++i) {
                reads(statement->expressions[i], frame);
                if (statement->kind == StatementKind::choice)
                    mentions(statement->blocks[i], frame, true);
            }
            if (statement->kind == StatementKind::choice)
                mentions(statement->blocks.back(), frame, true);
            if (statement->kind == StatementKind::assignment)
                stores(statement->targets[0], frame, is_conditional);
        }
    }
}

/// Analyses a block that opens a scope.
void ScopeAnalysis::nested(Block& block, Frame inside) {
    mentions(block, inside, false);
    inner(block, inside);
    block.hidden = std::move(inside.hidden);
}

void ScopeAnalysis::loop(Statement& loop, Frame& frame) {
    Frame inside = {.parent = &frame, .in_loop = true, .around_loop = true};
    for_each_name(loop.targets[0], [&](const std::string& name) { inside.mentioned.insert(name); });
    if (!inside.mentioned.insert("loop").second)
        fail(loop.targets[0].at, "Can't assign to special loop variable in for-loop target");
    nested(loop.blocks[0], std::move(inside));
    nested(loop.blocks[1], {.parent = &frame, .in_loop = frame.in_loop, .around_loop = frame.around_loop});
}

void ScopeAnalysis::macro(Statement& macro, const Frame& frame) {
    const auto read = [&](const Expression& node) {
        macro.uses_caller |= node.kind == ExpressionKind::name && node.name == "caller";
    };
    walk(macro.blocks[0], [](const std::string&) {}, read);
    Frame inside = {.parent = &frame, .mentioned = {"caller"}};
    for (std::size_t i = 0; i < macro.targets.size(); ++i) {
        inside.mentioned.insert(macro.targets[i].name);
        if (macro.targets[i].name != "caller")
            continue;
        if (macro.uses_caller && macro.expressions[i] == nullptr) {
            fail(macro.targets[i].at, "When defining macros or call blocks the special \"caller\" argument "
                                      "must be omitted or be given a default.");
        }
        macro.uses_caller = false;
    }
    for (const ExpressionPtr& fallback : macro.expressions)
        reads(fallback, inside);
    nested(macro.blocks[0], std::move(inside));
}

void ScopeAnalysis::inner(Block& block, Frame& frame) {
    for (const auto& statement : block.statements)
        inner(*statement, frame);
}

void ScopeAnalysis::inner(Statement& statement, Frame& frame) {
    switch (statement.kind) {
    case StatementKind::choice:
        for (Block& block : statement.blocks)
            inner(block, frame);
        break;
    case StatementKind::loop:
        loop(statement, frame);
        break;
    case StatementKind::macro:
    case StatementKind::call:
    case StatementKind::generation:
        macro(statement, frame);
        break;
    case StatementKind::break_loop:
    case StatementKind::continue_loop:
        if (!frame.in_loop) {
            const bool breaks = statement.kind == StatementKind::break_loop;
            fail(statement.at, breaks ? "'break' outside loop" : "'continue' not properly in loop");
        }
        break;
    default:
        for (Block& block : statement.blocks) {
            Frame inside = {.parent = &frame, .in_loop = frame.in_loop, .around_loop = frame.around_loop};
            if (statement.kind == StatementKind::with) {
                for (const Target& target : statement.targets)
                    for_each_name(target, [&](const std::string& name) { inside.mentioned.insert(name); });
            }
            nested(block, std::move(inside));
        }
    }
}

} // namespace

Status analyse(Block& tree) {
    ETNA_CHECK(ScopeAnalysis().run(tree));
    return BuiltinCheck().run(tree);
}

} // namespace etna::jinja
