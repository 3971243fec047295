#pragma once

#include "core/jinja/interpreter.hpp"
#include "core/jinja/object.hpp"

namespace etna::jinja {

/// A macro as a value, with the scope of its definition.
class MacroObject final : public Object {
public:
    MacroObject(std::size_t depth, Interpreter& interpreter, const Macro& macro, std::shared_ptr<Scope> scope,
                Escaping escaping)
        : Object(depth), interpreter_(interpreter), macro_(macro), scope_(std::move(scope)),
          escaping_(escaping) {}

    [[nodiscard]] std::string_view type_name() const override { return "Macro"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.runtime.Macro object"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        return macro_.name.empty() ? "<Macro anonymous>" : "<Macro '" + macro_.name + "'>";
    }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& /*machine*/, Arguments&& arguments) override {
        return interpreter_.call_macro(macro_, scope_, escaping_, std::move(arguments));
    }
    Result<std::optional<Value>> attribute(Machine& machine, std::string_view name) override;

private:
    Interpreter& interpreter_;
    const Macro& macro_; ///< in the template's tree
    std::shared_ptr<Scope> scope_;
    Escaping escaping_; ///< at its definition
};

} // namespace etna::jinja
