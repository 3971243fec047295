// Interpreter: {% block %} and {% autoescape %}.

#include "core/jinja/containers.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/interpreter.hpp"
#include "core/jinja/operators.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

Value no_parent(const NamedBlock& block) {
    return undefined(fmt::format("there is no parent block called '{}'.", block.name));
}

/// `self.name`: a callable block.
class BlockObject final : public Object {
public:
    BlockObject(std::size_t depth, Interpreter& interpreter, const NamedBlock& block,
                std::shared_ptr<Scope> around)
        : Object(depth), interpreter_(interpreter), block_(block), around_(std::move(around)) {}

    [[nodiscard]] std::string_view type_name() const override { return "BlockReference"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.runtime.BlockReference object"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        return std::string("<jinja2.runtime.BlockReference object>");
    }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& /*machine*/, Arguments&& arguments) override {
        if (!arguments.positional.empty() || !arguments.keyword.empty())
            return type_error(fmt::format("the block '{}' takes no arguments", block_.name));
        return interpreter_.call_block(block_, around_);
    }
    Result<std::optional<Value>> attribute(Machine& /*machine*/, std::string_view name) override {
        if (name == "super")
            return std::optional<Value>(no_parent(block_));
        return name == "name" ? std::optional<Value>(Value(block_.name)) : std::nullopt;
    }

private:
    Interpreter& interpreter_;
    const NamedBlock& block_; ///< in the template's tree
    std::shared_ptr<Scope> around_;
};

/// The variable `self`, whose attributes are the template's blocks.
class SelfObject final : public Object {
public:
    SelfObject(std::size_t depth, Interpreter& interpreter, std::shared_ptr<Scope> around)
        : Object(depth), interpreter_(interpreter), around_(std::move(around)) {}

    [[nodiscard]] std::string_view type_name() const override { return "TemplateReference"; }
    [[nodiscard]] std::string owner_name() const override {
        return "jinja2.runtime.TemplateReference object";
    }
    Result<std::string> repr(Machine& /*machine*/) override {
        return std::string("<TemplateReference None>");
    }
    Result<std::optional<Value>> attribute(Machine& machine, std::string_view name) override {
        const NamedBlock* block = interpreter_.find_block(name);
        if (block == nullptr)
            return std::optional<Value>();
        ETNA_TRY(auto value, machine.object<BlockObject>(0, interpreter_, *block, around_));
        return std::optional<Value>(std::move(value));
    }

private:
    Interpreter& interpreter_;
    std::shared_ptr<Scope> around_;
};

} // namespace

const NamedBlock* Interpreter::find_block(std::string_view name) const {
    const auto found = std::find_if(tree_.blocks.begin(), tree_.blocks.end(),
                                    [&](const NamedBlock* block) { return block->name == name; });
    return found == tree_.blocks.end() ? nullptr : *found;
}

/// `around` is the scope that a scoped block sees; null: only the top level.
Result<Value> Interpreter::self_value(const std::shared_ptr<Scope>& around) {
    if (around != nullptr)
        keep(around);
    return machine_.object<SelfObject>(0, *this, around);
}

Result<Interpreter::Flow> Interpreter::execute_block(const NamedBlock& block,
                                                     const std::shared_ptr<Scope>& around) {
    auto inside = std::make_shared<Scope>(around, block.hidden);
    inside->is_block = true;
    if (block.uses_self) {
        ETNA_TRY(auto self, self_value(around));
        inside->set("self", std::move(self));
    }
    if (block.uses_super)
        inside->set("super", no_parent(block));
    const Escaping outside = std::exchange(escaping_, Escaping::off);
    auto flow = execute_in(block.body, std::move(inside));
    escaping_ = outside;
    return flow;
}

Result<Interpreter::Flow> Interpreter::run(const NamedBlock& block) {
    if (block.is_required)
        return python_error("TemplateRuntimeError", fmt::format("Required block '{}' not found", block.name));
    return execute_block(block, block.is_scoped ? scope_ : nullptr);
}

Result<Value> Interpreter::call_block(const NamedBlock& block, const std::shared_ptr<Scope>& around) {
    Buffer buffer;
    buffer.charge.attach(machine_.memory(), 0);
    Buffer* const outer = std::exchange(out_, &buffer);
    const auto flow = execute_block(block, around);
    out_ = outer;
    if (!flow)
        return flow.error();
    return machine_.text(std::move(buffer.text), machine_.escapes());
}

bool Interpreter::escapes() const {
    return escaping_ == Escaping::on || (escaping_ == Escaping::as_machine && machine_.escapes());
}

Result<Interpreter::Flow> Interpreter::run(const Autoescape& autoescape) {
    ETNA_TRY(const auto wanted, evaluate(autoescape.wanted));
    ETNA_TRY(const bool is_wanted, is_true(machine_, wanted));
    const bool is_known =
        escaping_ != Escaping::as_machine && std::holds_alternative<Constant>(autoescape.wanted->node);
    const Escaping outside = escaping_;
    const bool was_wanted = machine_.escapes();
    escaping_ = !is_known ? Escaping::as_machine : (is_wanted ? Escaping::on : Escaping::off);
    machine_.set_escapes(is_wanted);
    auto flow = execute_in(autoescape.body, std::make_shared<Scope>(scope_, autoescape.hidden));
    machine_.set_escapes(was_wanted);
    escaping_ = outside;
    return flow;
}

} // namespace etna::jinja
