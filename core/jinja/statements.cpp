// Interpreter: statements.

#include "core/jinja/errors.hpp"
#include "core/jinja/globals.hpp"
#include "core/jinja/interpreter.hpp"
#include "core/jinja/loop.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"

#include <functional>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// Iterates over the items of a loop that satisfy its condition.
class FilteredCursor final : public Cursor {
public:
    using Passes = std::function<Result<bool>(const Value&)>;
    FilteredCursor(std::unique_ptr<Cursor> source, Passes passes)
        : source_(std::move(source)), passes_(std::move(passes)) {}

    Result<std::optional<Value>> next(Machine& machine) override {
        while (true) {
            ETNA_TRY(auto item, source_->next(machine));
            if (!item)
                return item;
            ETNA_TRY(const bool passes, passes_(*item));
            if (passes)
                return item;
        }
    }

private:
    std::unique_ptr<Cursor> source_;
    Passes passes_;
};

} // namespace

Interpreter::~Interpreter() {
    for (const auto& scope : kept_)
        scope->clear();
}

Result<std::string> Interpreter::render(const Value& context) {
    context_ = context.dict();
    top_ = std::make_shared<Scope>(nullptr, tree_.hidden);
    scope_ = top_;
    if (tree_.uses_self) {
        ETNA_TRY(auto self, self_value(nullptr));
        scope_->set("self", std::move(self));
    }
    Buffer buffer;
    buffer.charge.attach(machine_.memory(), 0);
    out_ = &buffer;
    ETNA_TRY(const auto flow, execute(tree_.body));
    static_cast<void>(flow);
    return std::move(buffer.text);
}

Result<Interpreter::Flow> Interpreter::execute(const Block& block) {
    for (const auto& statement : block) {
        ETNA_TRY(const auto flow, execute(*statement));
        if (flow != Flow::onward)
            return flow;
    }
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::execute(const Statement& statement) {
    const Machine::Level level(machine_);
    Status allowed = level.check();
    if (allowed)
        allowed = machine_.spend(step_work);
    auto result = allowed ? std::visit([&](const auto& node) { return run(node); }, statement.node)
                          : Result<Flow>(allowed.error());
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

Result<Interpreter::Flow> Interpreter::collect(const Block& block, const Hidden& hidden,
                                               const std::shared_ptr<Scope>& parent, std::string& out) {
    Buffer buffer;
    buffer.charge.attach(machine_.memory(), 0);
    Buffer* const outer = std::exchange(out_, &buffer);
    auto flow = execute_in(block, std::make_shared<Scope>(parent, hidden));
    out_ = outer;
    out = std::move(buffer.text);
    return flow;
}

Result<Interpreter::Flow> Interpreter::run(const Output& output) {
    if (output.expression == nullptr) {
        ETNA_CHECK(write(output.text));
        return Flow::onward;
    }
    ETNA_TRY(const auto value, evaluate(output.expression));
    // The reference prints constants unescaped if it does not know at compile time whether to escape.
    const bool is_constant = std::holds_alternative<Constant>(output.expression->node);
    const bool is_plain =
        !escapes() || value.is_markup() || (is_constant && escaping_ == Escaping::as_machine);
    if (value.is(Type::string) && is_plain) {
        ETNA_CHECK(write(value.string()));
        return Flow::onward;
    }
    ETNA_TRY(const auto text, to_text(machine_, value));
    ETNA_CHECK(write(is_plain ? text : escaped(text)));
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::run(const If& choice) {
    for (const auto& [test, body] : choice.branches) {
        ETNA_TRY(const auto value, evaluate(test));
        ETNA_TRY(const bool holds, is_true(machine_, value));
        if (holds)
            return execute(body);
    }
    return execute(choice.otherwise);
}

Result<std::unique_ptr<Cursor>>
Interpreter::loop_cursor(const For& loop, const std::shared_ptr<Scope>& parent, const Value& items) {
    ETNA_TRY(auto cursor, iterate(machine_, items));
    if (loop.test == nullptr)
        return cursor;
    const auto passes = [this, &loop, parent](const Value& item) -> Result<bool> {
        auto scope = std::make_shared<Scope>(parent, Hidden());
        ETNA_CHECK(assign(loop.target, item, *scope));
        const auto outside = std::exchange(scope_, std::move(scope));
        const auto value = evaluate(loop.test);
        scope_ = outside;
        if (!value)
            return value.error();
        return is_true(machine_, *value);
    };
    return std::unique_ptr<Cursor>(std::make_unique<FilteredCursor>(std::move(cursor), passes));
}

Result<Interpreter::Flow> Interpreter::iterate_loop(const For& loop, const std::shared_ptr<Scope>& parent,
                                                    const Value& items, std::size_t depth) {
    ETNA_TRY(auto cursor, loop_cursor(loop, parent, items));
    std::optional<std::size_t> length;
    if (loop.test == nullptr) {
        if (const auto known = length_of(machine_, items))
            length = *known;
    }
    LoopObject::Recursion recursion;
    if (loop.is_recursive) {
        keep(parent);
        recursion = {this, &loop, parent};
    }
    ETNA_TRY(const auto value, machine_.object<LoopObject>(items.depth() + 1, std::move(cursor), length,
                                                           depth, std::move(recursion)));
    auto& state = static_cast<LoopObject&>(*value.object());
    bool is_empty = true;
    while (true) {
        ETNA_TRY(const bool has_next, state.advance(machine_));
        if (!has_next)
            break;
        auto scope = std::make_shared<Scope>(parent, loop.hidden);
        if (loop.uses_loop)
            scope->set("loop", value);
        ETNA_CHECK(assign(loop.target, state.current(), *scope));
        ETNA_CHECK(machine_.spend(step_work));
        ETNA_TRY(const auto flow, execute_in(loop.body, std::move(scope)));
        if (flow == Flow::break_loop)
            break;
        if (flow == Flow::onward) // as in the reference, a loop whose every item is skipped counts as empty
            is_empty = false;
    }
    if (!is_empty || loop.otherwise.empty())
        return Flow::onward;
    return execute_in(loop.otherwise, std::make_shared<Scope>(parent, loop.hidden_otherwise));
}

Result<Value> Interpreter::call_loop(const For& loop, const std::shared_ptr<Scope>& scope, const Value& items,
                                     std::size_t depth) {
    Buffer buffer;
    buffer.charge.attach(machine_.memory(), 0);
    Buffer* const outer = std::exchange(out_, &buffer);
    const auto flow = iterate_loop(loop, scope, items, depth);
    out_ = outer;
    if (!flow)
        return flow.error();
    return machine_.text(std::move(buffer.text), escapes());
}

Result<Interpreter::Flow> Interpreter::run(const For& loop) {
    ETNA_TRY(const auto items, evaluate(loop.iterable));
    const auto scope = scope_;
    return iterate_loop(loop, scope, items, 0);
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
    if (!is_iterable(machine_, value))
        return type_error(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
    ETNA_TRY(const auto items, items_of(machine_, value));
    if (items.size() > target.parts.size())
        return value_error(fmt::format("too many values to unpack (expected {})", target.parts.size()));
    if (items.size() < target.parts.size()) {
        return value_error(fmt::format("not enough values to unpack (expected {}, got {})",
                                       target.parts.size(), items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i)
        ETNA_CHECK(assign(target.parts[i], items[i], scope));
    return {};
}

Result<Interpreter::Flow> Interpreter::run(const Set& set) {
    ETNA_CHECK(check_namespaces(set.target));
    ETNA_TRY(const auto value, evaluate(set.value));
    ETNA_CHECK(assign(set.target, value, *scope_));
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::run(const SetBlock& set) {
    std::string text;
    const auto scope = scope_;
    ETNA_TRY(const auto flow, collect(set.body, set.hidden, scope, text));
    if (flow != Flow::onward)
        return flow;
    ETNA_TRY(auto value, machine_.text(std::move(text), escapes()));
    if (set.filter != nullptr) {
        ETNA_TRY(value, filtered_text(*set.filter, value));
    }
    if (machine_.escapes() && !value.is_markup()) {
        ETNA_TRY(auto markup, to_text(machine_, value));
        ETNA_TRY(value, machine_.text(std::move(markup), true));
    }
    ETNA_CHECK(assign(set.target, value, *scope_));
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::run(const Macro& macro) {
    ETNA_TRY(auto value, macro_value(macro));
    scope_->set(macro.name, std::move(value));
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::run(const CallBlock& block) {
    const auto& node = std::get<Call>(block.call->node);
    ETNA_TRY(auto caller, macro_value(block.body));
    ETNA_TRY(const auto callee, evaluate(node.callee));
    ETNA_TRY(auto arguments, arguments_of(node.arguments));
    arguments.keyword.emplace_back("caller", std::move(caller));
    ETNA_TRY(const auto value, call(machine_, callee, std::move(arguments)));
    ETNA_TRY(const auto text, to_text(machine_, value));
    ETNA_CHECK(write(text));
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::run(const FilterBlock& block) {
    std::string text;
    const auto scope = scope_;
    ETNA_TRY(const auto flow, collect(block.body, block.hidden, scope, text));
    if (flow != Flow::onward)
        return flow;
    ETNA_TRY(auto value, machine_.text(std::move(text), escapes()));
    ETNA_TRY(value, filtered_text(*block.filter, value));
    if (!value.is(Type::string))
        return type_error(fmt::format("expected str instance, {} found", type_name(value)));
    ETNA_CHECK(write(value.string()));
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::run(const With& with) {
    auto scope = std::make_shared<Scope>(scope_, with.hidden);
    for (std::size_t i = 0; i < with.targets.size(); ++i) {
        ETNA_TRY(const auto value, evaluate(with.values[i]));
        ETNA_CHECK(assign(with.targets[i], value, *scope));
    }
    return execute_in(with.body, std::move(scope));
}

Result<Interpreter::Flow> Interpreter::run(const Generation& generation) {
    ETNA_TRY(const auto value, call_macro(generation.body, scope_, escaping_, {}));
    ETNA_CHECK(write(value.string()));
    return Flow::onward;
}

Result<Interpreter::Flow> Interpreter::run(const Break& /*statement*/) {
    return Flow::break_loop;
}

Result<Interpreter::Flow> Interpreter::run(const Continue& /*statement*/) {
    return Flow::continue_loop;
}

Result<Interpreter::Flow> Interpreter::run(const Load& load) {
    ETNA_TRY(const auto source, evaluate(load.source));
    static_cast<void>(source);
    return type_error("no loader for this environment specified");
}

/// Keeps a scope that a macro refers to alive until the rendering ends.
void Interpreter::keep(const std::shared_ptr<Scope>& scope) {
    if (!std::exchange(scope->is_kept, true))
        kept_.push_back(scope);
}

} // namespace etna::jinja
