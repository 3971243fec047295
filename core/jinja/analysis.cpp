#include "core/jinja/analysis.hpp"

#include "core/jinja/filters.hpp"
#include "core/jinja/lexer.hpp"
#include "core/jinja/name_use.hpp"
#include "core/jinja/tests.hpp"
#include "core/jinja/walk.hpp"

#include <optional>
#include <set>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// The names that one scope mentions, collected in the order of the reference compiler.
struct Frame {
    const Frame* parent = nullptr;
    std::set<std::string, std::less<>> mentioned = {};
    Hidden hidden = {};
    bool is_soft = false;     ///< inside an if: an unknown filter is an error only when reached
    bool in_loop = false;     ///< `break` is allowed
    bool around_loop = false; ///< inside a loop, so that `loop` must not be assigned

    [[nodiscard]] bool knows(std::string_view name) const {
        return mentioned.count(name) > 0 || (parent != nullptr && parent->knows(name));
    }
};

class Analysis {
public:
    Status scope(Block& block, Frame& frame);
    std::optional<Error> failed;

private:
    // First pass over a scope: its own names, without those of inner scopes.
    void mentions(const Block& block, Frame& frame, bool is_conditional);
    void reads(const ExpressionPtr& expression, Frame& frame);
    void stores(const Target& target, Frame& frame, bool is_conditional);
    void store_name(const std::string& name, Frame& frame, bool is_conditional);
    static void declares(const Target& target, Frame& frame);

    // Second pass: filters, tests, loop controls and inner scopes.
    void inner(Block& block, Frame& frame);
    void inner(Statement& statement, Frame& frame);
    void loop(For& loop, Frame& frame);
    void macro(Macro& macro, const Frame& frame);
    void named_block(NamedBlock& block);
    void nested(Block& block, Hidden& hidden, const Frame& frame);
    void check(const ExpressionPtr& expression, bool is_soft);
    void fail(Position at, std::string_view message) {
        if (!failed)
            failed = syntax_error(at, message);
    }
};

void Analysis::reads(const ExpressionPtr& expression, Frame& frame) {
    if (expression == nullptr)
        return;
    if (const auto* name = std::get_if<Name>(&expression->node)) {
        if (!frame.knows(name->name))
            frame.mentioned.insert(name->name);
        return;
    }
    std::visit(
        [&](const auto& node) { for_each_child(node, [&](const auto& child) { reads(child, frame); }); },
        expression->node);
}

void Analysis::store_name(const std::string& name, Frame& frame, bool is_conditional) {
    if (frame.mentioned.count(name) > 0)
        return;
    if (!is_conditional && !frame.knows(name))
        frame.hidden.push_back(name);
    frame.mentioned.insert(name);
}

void Analysis::stores(const Target& target, Frame& frame, bool is_conditional) {
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

void Analysis::declares(const Target& target, Frame& frame) {
    for (const Target& part : target.parts)
        declares(part, frame);
    if (!target.is_tuple)
        frame.mentioned.insert(target.name);
}

void Analysis::mentions(const Block& block, Frame& frame, bool is_conditional) {
    for (const auto& statement : block) {
        if (const auto* output = std::get_if<Output>(&statement->node)) {
            reads(output->expression, frame);
        } else if (const auto* choice = std::get_if<If>(&statement->node)) {
            for (const auto& [test, body] : choice->branches) {
                reads(test, frame);
                mentions(body, frame, true);
            }
            mentions(choice->otherwise, frame, true);
        } else if (const auto* loop = std::get_if<For>(&statement->node)) {
            reads(loop->iterable, frame);
        } else if (const auto* set = std::get_if<Set>(&statement->node)) {
            reads(set->value, frame);
            stores(set->target, frame, is_conditional);
        } else if (const auto* set_block = std::get_if<SetBlock>(&statement->node)) {
            stores(set_block->target, frame, is_conditional);
        } else if (const auto* macro = std::get_if<Macro>(&statement->node)) {
            store_name(macro->name, frame, is_conditional);
        } else if (const auto* call = std::get_if<CallBlock>(&statement->node)) {
            reads(call->call, frame);
        } else if (const auto* filter = std::get_if<FilterBlock>(&statement->node)) {
            reads(filter->filter, frame);
        } else if (const auto* with = std::get_if<With>(&statement->node)) {
            for (const auto& value : with->values)
                reads(value, frame);
        } else if (const auto* autoescape = std::get_if<Autoescape>(&statement->node)) {
            reads(autoescape->wanted, frame);
        }
    }
}

void Analysis::check(const ExpressionPtr& expression, bool is_soft) {
    if (expression == nullptr)
        return;
    const auto* filter = std::get_if<Filter>(&expression->node);
    if (filter != nullptr && !is_soft && !is_filter(filter->name))
        fail(expression->at, fmt::format("No filter named '{}'.", filter->name));
    const auto* test = std::get_if<Test>(&expression->node);
    if (test != nullptr && !is_soft && !is_test(test->name))
        fail(expression->at, fmt::format("No test named '{}'.", test->name));
    const bool is_condition = std::holds_alternative<Condition>(expression->node);
    std::visit(
        [&](const auto& node) {
            for_each_child(node, [&](const auto& child) { check(child, is_soft || is_condition); });
        },
        expression->node);
}

/// Analyses a scope inside `frame`; stores the names that it hides in `hidden`.
void Analysis::nested(Block& block, Hidden& hidden, const Frame& frame) {
    Frame inside = {.parent = &frame, .in_loop = frame.in_loop, .around_loop = frame.around_loop};
    mentions(block, inside, false);
    inner(block, inside);
    hidden = std::move(inside.hidden);
}

void Analysis::loop(For& loop, Frame& frame) {
    check(loop.iterable, frame.is_soft);
    check(loop.test, false);
    loop.uses_loop = loop.is_recursive || uses_undeclared(loop.body, {"loop"}).count("loop") > 0;
    Frame inside = {.parent = &frame, .in_loop = true, .around_loop = true};
    if (loop.uses_loop)
        inside.mentioned.insert("loop");
    declares(loop.target, inside);
    if (inside.mentioned.count("loop") > (loop.uses_loop ? 1U : 0U))
        fail(loop.target.at, "Can't assign to special loop variable in for-loop target");
    mentions(loop.body, inside, false);
    inner(loop.body, inside);
    loop.hidden = std::move(inside.hidden);
    nested(loop.otherwise, loop.hidden_otherwise, frame);
}

void Analysis::macro(Macro& macro, const Frame& frame) {
    auto used = uses_undeclared(macro.body, {"caller", "kwargs", "varargs"});
    macro.uses_caller = used.count("caller") > 0;
    for (const Parameter& parameter : macro.parameters) {
        if (parameter.name == "caller" && macro.uses_caller && parameter.fallback == nullptr) {
            fail(parameter.at, "When defining macros or call blocks the special \"caller\" argument must be "
                               "omitted or be given a default.");
        }
        used.erase(parameter.name);
    }
    macro.uses_keywords = used.count("kwargs") > 0;
    macro.uses_varargs = used.count("varargs") > 0;
    Frame inside = {.parent = &frame};
    inside.mentioned = {"caller", "kwargs", "varargs"};
    for (const Parameter& parameter : macro.parameters)
        inside.mentioned.insert(parameter.name);
    for (const Parameter& parameter : macro.parameters) {
        reads(parameter.fallback, inside);
        check(parameter.fallback, false);
    }
    mentions(macro.body, inside, false);
    inner(macro.body, inside);
    macro.hidden = std::move(inside.hidden);
}

/// Analyses a block as a scope without a parent.
void Analysis::named_block(NamedBlock& block) {
    const auto used = uses_undeclared(block.body, {"self", "super"});
    block.uses_self = used.count("self") > 0;
    block.uses_super = used.count("super") > 0;
    Frame inside;
    inside.mentioned = used;
    mentions(block.body, inside, false);
    inner(block.body, inside);
    block.hidden = std::move(inside.hidden);
}

void Analysis::inner(Block& block, Frame& frame) {
    for (const auto& statement : block)
        inner(*statement, frame);
}

void Analysis::inner(Statement& statement, Frame& frame) {
    if (const auto* output = std::get_if<Output>(&statement.node)) {
        check(output->expression, frame.is_soft);
    } else if (auto* choice = std::get_if<If>(&statement.node)) {
        const bool was_soft = std::exchange(frame.is_soft, true);
        for (auto& [test, body] : choice->branches) {
            check(test, true);
            inner(body, frame);
        }
        inner(choice->otherwise, frame);
        frame.is_soft = was_soft;
    } else if (auto* loop_statement = std::get_if<For>(&statement.node)) {
        loop(*loop_statement, frame);
    } else if (const auto* set = std::get_if<Set>(&statement.node)) {
        check(set->value, frame.is_soft);
    } else if (auto* set_block = std::get_if<SetBlock>(&statement.node)) {
        check(set_block->filter, false);
        nested(set_block->body, set_block->hidden, frame);
    } else if (auto* macro_statement = std::get_if<Macro>(&statement.node)) {
        macro(*macro_statement, frame);
    } else if (auto* call = std::get_if<CallBlock>(&statement.node)) {
        check(call->call, frame.is_soft);
        macro(call->body, frame);
    } else if (auto* filter = std::get_if<FilterBlock>(&statement.node)) {
        check(filter->filter, false);
        nested(filter->body, filter->hidden, frame);
    } else if (auto* with = std::get_if<With>(&statement.node)) {
        for (const auto& value : with->values)
            check(value, frame.is_soft);
        Frame inside = {.parent = &frame, .in_loop = frame.in_loop, .around_loop = frame.around_loop};
        for (const Target& target : with->targets)
            declares(target, inside);
        mentions(with->body, inside, false);
        inner(with->body, inside);
        with->hidden = std::move(inside.hidden);
    } else if (auto* generation = std::get_if<Generation>(&statement.node)) {
        macro(generation->body, frame);
    } else if (auto* autoescape = std::get_if<Autoescape>(&statement.node)) {
        check(autoescape->wanted, false);
        nested(autoescape->body, autoescape->hidden, frame);
    } else if (auto* block = std::get_if<NamedBlock>(&statement.node)) {
        named_block(*block);
    } else if (std::holds_alternative<Break>(statement.node) && !frame.in_loop) {
        fail(statement.at, "'break' outside loop");
    } else if (std::holds_alternative<Continue>(statement.node) && !frame.in_loop) {
        fail(statement.at, "'continue' not properly in loop");
    }
}

Status Analysis::scope(Block& block, Frame& frame) {
    mentions(block, frame, false);
    inner(block, frame);
    return failed ? Status(*failed) : Status();
}

} // namespace

Status analyse(Tree& tree) {
    Frame frame;
    tree.uses_self = uses_undeclared(tree.body, {"self"}).count("self") > 0;
    if (tree.uses_self)
        frame.mentioned.insert("self");
    Analysis analysis;
    ETNA_CHECK(analysis.scope(tree.body, frame));
    tree.hidden = std::move(frame.hidden);
    return {};
}

} // namespace etna::jinja
