// Interpreter: statements, and the values of loops and macros.

#include "core/jinja/builtins.hpp"
#include "core/jinja/interpreter.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// The variable `loop`, the state of a for loop. It also drives the loop, because it can look ahead.
class LoopObject final : public Object {
public:
    /// `length` is the number of items, if known.
    LoopObject(std::size_t depth, Cursor cursor, std::optional<std::size_t> length)
        : Object(depth), cursor_(std::move(cursor)), length_(length) {}

    /// Advances to the next item; returns false at the end.
    Result<bool> advance(Machine& machine);
    [[nodiscard]] const Value& current() const { return *current_; }

    [[nodiscard]] std::string_view type_name() const override { return "LoopContext"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.runtime.LoopContext object"; }
    Result<std::optional<std::size_t>> length(Machine& machine) override;
    Result<OptionalValue> attribute(Machine& machine, std::string_view name) override;

private:
    Result<const OptionalValue*> peek(Machine& machine);

    Cursor cursor_;
    std::optional<std::size_t> length_;
    int64_t index0_ = -1;
    OptionalValue before_;
    OptionalValue current_;
    OptionalValue after_;
};

Result<bool> LoopObject::advance(Machine& machine) {
    ETNA_TRY(const auto* next, peek(machine));
    if (!next->has_value())
        return false;
    ++index0_;
    before_ = std::exchange(current_, std::exchange(after_, std::nullopt));
    return true;
}

Result<const OptionalValue*> LoopObject::peek(Machine& machine) {
    if (!after_) {
        ETNA_TRY(after_, cursor_(machine));
    }
    return static_cast<const OptionalValue*>(&after_);
}

Result<std::optional<std::size_t>> LoopObject::length(Machine& machine) {
    if (!length_) {
        ETNA_TRY(auto rest, collect(machine, cursor_));
        length_ = rest.size() + static_cast<std::size_t>(index0_ + 1) + (after_ ? 1 : 0);
        cursor_ = iterate_items(std::move(rest));
    }
    return length_;
}

Result<OptionalValue> LoopObject::attribute(Machine& machine, std::string_view name) {
    const auto number = [](int64_t value) { return OptionalValue(value); };
    if (name == "index")
        return number(index0_ + 1);
    if (name == "index0")
        return number(index0_);
    if (name == "first")
        return OptionalValue(index0_ == 0);
    if (name == "depth" || name == "depth0")
        return number(name == "depth" ? 1 : 0); // only recursive loops are deeper
    if (name == "length" || name == "revindex" || name == "revindex0") {
        ETNA_TRY(const auto count, length(machine));
        const auto total = static_cast<int64_t>(*count);
        return number(name == "length" ? total : total - index0_ - (name == "revindex0" ? 1 : 0));
    }
    if (name == "last" || name == "nextitem") {
        ETNA_TRY(const auto* next, peek(machine));
        if (name == "last")
            return OptionalValue(!next->has_value());
        return OptionalValue(*next ? **next : undefined("there is no next item"));
    }
    if (name == "previtem")
        return OptionalValue(before_ ? *before_ : undefined("there is no previous item"));
    return OptionalValue();
}

/// A macro as a value, with the scope of its definition.
class MacroObject final : public Object {
public:
    MacroObject(std::size_t depth, Interpreter& interpreter, const Statement& macro,
                std::shared_ptr<Scope> scope)
        : Object(depth), interpreter_(interpreter), macro_(macro), scope_(std::move(scope)) {}

    [[nodiscard]] std::string_view type_name() const override { return "Macro"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.runtime.Macro object"; }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& /*machine*/, Arguments&& arguments) override {
        return interpreter_.call_macro(macro_, scope_, std::move(arguments));
    }

private:
    Interpreter& interpreter_;
    const Statement& macro_; ///< in the template's tree
    std::shared_ptr<Scope> scope_;
};

} // namespace

Interpreter::~Interpreter() {
    for (const auto& scope : captured_scopes_)
        scope->clear();
}

Result<std::string> Interpreter::render(const Value& context) {
    context_ = context.dict();
    scope_ = std::make_shared<Scope>(nullptr, tree_.hidden);
    std::string text;
    ETNA_TRY(const auto flow, capture(text, [&] { return execute(tree_); }));
    static_cast<void>(flow);
    return text;
}

Result<Interpreter::Flow> Interpreter::execute(const Block& block) {
    for (const auto& statement : block.statements) {
        ETNA_TRY(const auto flow, execute(*statement));
        if (flow != Flow::onward)
            return flow;
    }
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::execute(const Statement& statement) {
    const DepthGuard guard(machine_.levels());
    Status allowed = machine_.check_recursion();
    if (allowed)
        allowed = machine_.spend(step_work);
    auto result = allowed ? run(statement) : Result<Flow>(allowed.error());
    if (!result && !failed_at_)
        failed_at_ = statement.at;
    return result;
}

Status Interpreter::write(std::string_view text) {
    ETNA_CHECK(machine_.reserve(text.size()));
    out_->charge.grow(text.size());
    out_->text += text;
    return {};
}

Result<Interpreter::Flow> Interpreter::execute_in(const Block& block, std::shared_ptr<Scope> scope) {
    const auto outside = std::exchange(scope_, std::move(scope));
    auto flow = execute(block);
    scope_ = outside;
    return flow;
}

template <class Execute>
Result<Interpreter::Flow> Interpreter::capture(std::string& text, const Execute& execute) {
    Buffer buffer(machine_.memory());
    Buffer* const outer = std::exchange(out_, &buffer);
    auto flow = execute();
    out_ = outer;
    text = std::move(buffer.text);
    return flow;
}

Result<Interpreter::Flow> Interpreter::run(const Statement& statement) {
    const auto& blocks = statement.blocks;
    switch (statement.kind) {
    case StatementKind::output: {
        if (statement.expressions.empty()) {
            ETNA_CHECK(write(statement.text));
            return Flow::onward;
        }
        ETNA_TRY(const auto value, evaluate(statement.expressions[0]));
        ETNA_TRY(const auto text, to_text(machine_, value));
        ETNA_CHECK(write(text));
        return Flow::onward;
    }
    case StatementKind::choice:
        for (std::size_t i = 0; i < statement.expressions.size(); ++i) {
            ETNA_TRY(const auto value, evaluate(statement.expressions[i]));
            ETNA_TRY(const bool holds, is_true(machine_, value));
            if (holds)
                return execute(blocks[i]);
        }
        return execute(blocks.back());
    case StatementKind::loop:
        return run_loop(statement);
    case StatementKind::assignment: {
        ETNA_CHECK(check_namespaces(statement.targets[0]));
        ETNA_TRY(const auto value, evaluate(statement.expressions[0]));
        ETNA_CHECK(assign(statement.targets[0], value, *scope_));
        return Flow::onward;
    }
    case StatementKind::capture:
    case StatementKind::filter:
        return run_capture(statement);
    case StatementKind::macro: {
        ETNA_TRY(auto value, macro_value(statement));
        scope_->set(statement.text, std::move(value));
        return Flow::onward;
    }
    case StatementKind::call:
        ETNA_CHECK(run_call(statement));
        return Flow::onward;
    case StatementKind::with: {
        auto scope = std::make_shared<Scope>(scope_, blocks[0].hidden);
        for (std::size_t i = 0; i < statement.targets.size(); ++i) {
            ETNA_TRY(const auto value, evaluate(statement.expressions[i]));
            ETNA_CHECK(assign(statement.targets[i], value, *scope));
        }
        return execute_in(blocks[0], std::move(scope));
    }
    case StatementKind::generation: {
        ETNA_TRY(const auto value, call_macro(statement, scope_, {}));
        ETNA_CHECK(write(value.string()));
        return Flow::onward;
    }
    case StatementKind::break_loop:
        return Flow::break_loop;
    case StatementKind::continue_loop:
        return Flow::continue_loop;
    }
    return Flow::onward;
}

/// Runs a block, applies filters to its text, and assigns or writes the result.
Result<Interpreter::Flow> Interpreter::run_capture(const Statement& statement) {
    std::string text;
    const Block& body = statement.blocks[0];
    ETNA_TRY(const auto flow,
             capture(text, [&] { return execute_in(body, std::make_shared<Scope>(scope_, body.hidden)); }));
    if (flow != Flow::onward)
        return flow;
    ETNA_TRY(auto value, machine_.text(std::move(text)));
    if (statement.expressions[0] != nullptr) {
        ETNA_TRY(value, filtered_text(*statement.expressions[0], value));
    }
    if (statement.kind == StatementKind::capture) {
        ETNA_CHECK(assign(statement.targets[0], value, *scope_));
        return Flow::onward;
    }
    if (!value.is(Type::string))
        return type_error("expected str instance, {} found", type_name(value));
    ETNA_CHECK(write(value.string()));
    return Flow::onward;
}

Status Interpreter::run_call(const Statement& block) {
    ETNA_TRY(auto caller, macro_value(block));
    ETNA_TRY(const auto callee, evaluate(block.call->operands[0]));
    ETNA_TRY(auto arguments, arguments_of(*block.call));
    arguments.keyword.emplace_back("caller", std::move(caller));
    ETNA_TRY(const auto value, call(machine_, callee, std::move(arguments)));
    ETNA_TRY(const auto text, to_text(machine_, value));
    return write(text);
}

Result<Cursor> Interpreter::loop_cursor(const Statement& loop, const Value& items) {
    ETNA_TRY(auto cursor, iterate(items));
    if (loop.expressions[1] == nullptr)
        return cursor;
    return Cursor([this, &loop, parent = scope_, cursor](Machine& machine) -> Result<OptionalValue> {
        while (true) {
            ETNA_TRY(auto item, cursor(machine));
            if (!item)
                return item;
            auto scope = std::make_shared<Scope>(parent, std::vector<std::string>());
            ETNA_CHECK(assign(loop.targets[0], *item, *scope));
            const auto outside = std::exchange(scope_, std::move(scope));
            const auto value = evaluate(loop.expressions[1]);
            scope_ = outside;
            if (!value)
                return value.error();
            ETNA_TRY(const bool passes, is_true(machine, *value));
            if (passes)
                return item;
        }
    });
}

Result<Interpreter::Flow> Interpreter::run_loop(const Statement& loop) {
    ETNA_TRY(const auto items, evaluate(loop.expressions[0]));
    ETNA_TRY(auto cursor, loop_cursor(loop, items));
    std::optional<std::size_t> length;
    if (loop.expressions[1] == nullptr) {
        if (const auto known = length_of(machine_, items))
            length = *known;
    }
    ETNA_TRY(const auto value, machine_.object<LoopObject>(items.depth() + 1, std::move(cursor), length));
    auto& state = static_cast<LoopObject&>(*value.object());
    bool is_empty = true;
    while (true) {
        ETNA_TRY(const bool has_next, state.advance(machine_));
        if (!has_next)
            break;
        auto scope = std::make_shared<Scope>(scope_, loop.blocks[0].hidden);
        scope->set("loop", value);
        ETNA_CHECK(assign(loop.targets[0], state.current(), *scope));
        ETNA_CHECK(machine_.spend(step_work));
        ETNA_TRY(const auto flow, execute_in(loop.blocks[0], std::move(scope)));
        if (flow == Flow::break_loop)
            break;
        if (flow == Flow::onward) // as in the reference, a loop that skips every item counts as empty
            is_empty = false;
    }
    if (!is_empty || loop.blocks[1].statements.empty())
        return Flow::onward;
    return execute_in(loop.blocks[1], std::make_shared<Scope>(scope_, loop.blocks[1].hidden));
}

Status Interpreter::check_namespaces(const Target& target) {
    for (const Target& part : target.parts)
        ETNA_CHECK(check_namespaces(part));
    if (target.attribute.empty())
        return {};
    const Value owner = look_up(target.name);
    if (owner.is(Type::object) && as_namespace(*owner.object()) != nullptr)
        return {};
    return python_error("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
}

Status Interpreter::assign(const Target& target, const Value& value, Scope& scope) {
    if (!target.is_tuple && target.attribute.empty()) {
        scope.set(target.name, value);
        return {};
    }
    if (!target.is_tuple) {
        ETNA_CHECK(check_namespaces(target));
        const Value owner = look_up(target.name);
        return as_namespace(*owner.object())->set(machine_, target.attribute, value);
    }
    if (!is_iterable(value))
        return type_error("cannot unpack non-iterable {} object", type_name(value));
    ETNA_TRY(const auto items, items_of(machine_, value));
    if (items.size() > target.parts.size())
        return value_error("too many values to unpack (expected {})", target.parts.size());
    if (items.size() < target.parts.size()) {
        return value_error("not enough values to unpack (expected {}, got {})", target.parts.size(),
                           items.size());
    }
    for (std::size_t i = 0; i < items.size(); ++i)
        ETNA_CHECK(assign(target.parts[i], items[i], scope));
    return {};
}

/// Binds the arguments in the macro's scope, which is the current one: positional, keyword, then defaults in
/// order.
Status Interpreter::bind_parameters(const Statement& macro, Arguments arguments,
                                    const std::shared_ptr<Scope>& scope) {
    const std::size_t count = macro.targets.size();
    std::vector<OptionalValue> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = i < arguments.positional.size() ? std::optional(arguments.positional[i])
                                                    : arguments.take(macro.targets[i].name);
    }
    if (macro.uses_caller)
        scope->set("caller", arguments.take("caller").value_or(undefined("No caller defined")));
    const std::string macro_name = macro.text.empty() ? "None" : string_repr(macro.text);
    if (arguments.take("caller")) {
        return type_error("macro {} was invoked with two values for the special caller argument. "
                          "This is most likely a bug.",
                          macro_name);
    }
    if (!arguments.keyword.empty()) {
        return type_error("macro {} takes no keyword argument {}", macro_name,
                          string_repr(arguments.keyword.front().first));
    }
    if (arguments.positional.size() > count)
        return type_error("macro {} takes not more than {} argument(s)", macro_name, count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::string& name = macro.targets[i].name;
        if (!values[i] && macro.expressions[i] != nullptr) {
            ETNA_TRY(values[i], evaluate(macro.expressions[i]));
        }
        if (!values[i])
            values[i] = undefined(fmt::format("parameter {} was not provided", string_repr(name)));
        scope->set(name, std::move(*values[i]));
    }
    return {};
}

Result<Value> Interpreter::call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope,
                                      Arguments arguments) {
    auto inside = std::make_shared<Scope>(scope, macro.blocks[0].hidden);
    const auto outside = std::exchange(scope_, inside);
    const Status bound = bind_parameters(macro, std::move(arguments), inside);
    scope_ = outside;
    ETNA_CHECK(bound);
    std::string text;
    ETNA_TRY(const auto flow, capture(text, [&] { return execute_in(macro.blocks[0], std::move(inside)); }));
    static_cast<void>(flow);
    return machine_.text(std::move(text));
}

Result<Value> Interpreter::macro_value(const Statement& macro) {
    if (!std::exchange(scope_->is_captured, true))
        captured_scopes_.push_back(scope_);
    return machine_.object<MacroObject>(0, *this, macro, scope_);
}

} // namespace etna::jinja
