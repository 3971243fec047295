#include "core/jinja/macro.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/print.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

bool has_parameter(const Macro& macro, std::string_view name) {
    return std::any_of(macro.parameters.begin(), macro.parameters.end(),
                       [&](const Parameter& parameter) { return parameter.name == name; });
}

std::string printed_name(const Macro& macro) {
    return macro.name.empty() ? "None" : quoted(macro.name);
}

} // namespace

Result<std::optional<Value>> MacroObject::attribute(Machine& machine, std::string_view name) {
    if (name == "name")
        return std::optional<Value>(macro_.name.empty() ? Value(None{}) : Value(macro_.name));
    if (name == "catch_kwargs" || name == "catch_varargs" || name == "caller") {
        return std::optional<Value>(
            name == "caller" ? macro_.uses_caller
                             : (name == "catch_kwargs" ? macro_.uses_keywords : macro_.uses_varargs));
    }
    if (name != "arguments")
        return std::optional<Value>();
    std::vector<Value> names;
    names.reserve(macro_.parameters.size());
    for (const Parameter& parameter : macro_.parameters)
        names.emplace_back(parameter.name);
    ETNA_TRY(auto tuple, machine.tuple(std::move(names)));
    return std::optional<Value>(std::move(tuple));
}

/// Binds the arguments in the macro's scope, which is the current one: positional, keyword, surplus, then
/// defaults in order.
Status Interpreter::bind_parameters(const Macro& macro, Arguments arguments,
                                    const std::shared_ptr<Scope>& scope) {
    const std::size_t count = macro.parameters.size();
    std::vector<std::optional<Value>> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = i < arguments.positional.size() ? std::optional(arguments.positional[i])
                                                    : arguments.take(macro.parameters[i].name);
    }
    if (macro.uses_caller && !has_parameter(macro, "caller"))
        scope->set("caller", arguments.take("caller").value_or(undefined("No caller defined")));
    if (macro.uses_keywords) {
        std::vector<Dict::Entry> entries;
        entries.reserve(arguments.keyword.size());
        for (auto& [name, value] : arguments.keyword)
            entries.push_back({Value(name), value});
        ETNA_TRY(auto left, machine_.dict(std::move(entries)));
        scope->set("kwargs", std::move(left));
    } else if (!arguments.keyword.empty()) {
        if (arguments.take("caller")) {
            return type_error(fmt::format("macro {} was invoked with two values for the special caller "
                                          "argument. This is most likely a bug.",
                                          printed_name(macro)));
        }
        return type_error(fmt::format("macro {} takes no keyword argument {}", printed_name(macro),
                                      quoted(arguments.keyword.front().first)));
    }
    if (macro.uses_varargs) {
        const std::size_t taken = std::min(count, arguments.positional.size());
        std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken),
                                arguments.positional.end());
        ETNA_TRY(auto left, machine_.tuple(std::move(rest)));
        scope->set("varargs", std::move(left));
    } else if (arguments.positional.size() > count) {
        return type_error(
            fmt::format("macro {} takes not more than {} argument(s)", printed_name(macro), count));
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Parameter& parameter = macro.parameters[i];
        if (!values[i] && parameter.fallback != nullptr) {
            ETNA_TRY(values[i], evaluate(parameter.fallback));
        }
        if (!values[i])
            values[i] = undefined(fmt::format("parameter {} was not provided", quoted(parameter.name)));
        scope->set(parameter.name, std::move(*values[i]));
    }
    return {};
}

Result<Value> Interpreter::call_macro(const Macro& macro, const std::shared_ptr<Scope>& scope,
                                      Escaping escaping, Arguments arguments) {
    auto inside = std::make_shared<Scope>(scope, macro.hidden);
    const auto outside = std::exchange(scope_, inside);
    const Escaping escaping_outside = std::exchange(escaping_, escaping);
    const Status bound = bind_parameters(macro, std::move(arguments), inside);
    scope_ = outside;
    Buffer buffer;
    buffer.charge.attach(machine_.memory(), 0);
    Buffer* const outer = std::exchange(out_, &buffer);
    const auto flow = bound ? execute_in(macro.body, std::move(inside)) : Result<Flow>(bound.error());
    out_ = outer;
    escaping_ = escaping_outside;
    if (!flow)
        return flow.error();
    return machine_.text(std::move(buffer.text), machine_.escapes());
}

Result<Value> Interpreter::macro_value(const Macro& macro) {
    keep(scope_);
    return machine_.object<MacroObject>(0, *this, macro, scope_, escaping_);
}

} // namespace etna::jinja
