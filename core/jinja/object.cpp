#include "core/jinja/object.hpp"

#include "core/jinja/machine.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

Result<Bound> bind(const Native& native, Arguments arguments) {
    Bound bound;
    if (native.parameters == "*") {
        bound.all = std::move(arguments);
        return bound;
    }
    const bool is_positional = native.parameters.substr(0, 1) == "/";
    const auto parameters = split(native.parameters.substr(is_positional ? 1 : 0), {}, -1);
    if (is_positional && !arguments.keyword.empty())
        return type_error("{}() takes no keyword arguments", native.name);
    if (arguments.positional.size() > parameters.size()) {
        return type_error("{}() takes at most {} argument{} ({} given)", native.name, parameters.size(),
                          parameters.size() == 1 ? "" : "s", arguments.positional.size());
    }
    bound.named.assign(arguments.positional.begin(), arguments.positional.end());
    bound.named.resize(parameters.size());
    for (auto& [name, value] : arguments.keyword) {
        const auto found = std::find(parameters.begin(), parameters.end(), name);
        if (found == parameters.end())
            return type_error("{}() got an unexpected keyword argument '{}'", native.name, name);
        auto& parameter = bound.named[static_cast<std::size_t>(found - parameters.begin())];
        if (parameter)
            return type_error("{}() got multiple values for argument '{}'", native.name, name);
        parameter = std::move(value);
    }
    for (std::size_t i = 0; i < native.required; ++i) {
        if (!bound.named[i]) {
            return type_error("{}() missing required argument '{}' (pos {})", native.name, parameters[i],
                              i + 1);
        }
    }
    return bound;
}

class BoundMethod final : public Object {
public:
    BoundMethod(std::size_t depth, Value self, const Native& native)
        : Object(depth), self_(std::move(self)), native_(&native) {}

    [[nodiscard]] std::string_view type_name() const override { return "builtin_function_or_method"; }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& machine, Arguments&& arguments) override {
        return call_native(machine, *native_, self_, std::move(arguments));
    }

private:
    Value self_;
    const Native* native_; ///< static
};

} // namespace

OptionalValue Arguments::take(std::string_view name) {
    const auto found =
        std::find_if(keyword.begin(), keyword.end(), [&](const auto& each) { return each.first == name; });
    if (found == keyword.end())
        return {};
    OptionalValue value(std::move(found->second));
    keyword.erase(found);
    return value;
}

Result<Value> Object::call(Machine& /*machine*/, Arguments&& /*arguments*/) {
    return type_error("'{}' object is not callable", type_name());
}

const Native* find_native(std::span<const Native> table, std::string_view name) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Native& each) { return each.name == name; });
    return found == table.end() ? nullptr : &*found;
}

Result<Value> call_native(Machine& machine, const Native& native, const Value& self, Arguments arguments) {
    ETNA_TRY(const auto bound, bind(native, std::move(arguments)));
    return native.run(machine, self, bound);
}

Result<int64_t> integer_argument(const Value& value) {
    if (const auto integer = integer_of(value))
        return *integer;
    if (value.is(Type::large))
        return overflow_error();
    return type_error("'{}' object cannot be interpreted as an integer", type_name(value));
}

Result<int64_t> integer_argument(const Value* value, int64_t fallback) {
    return value != nullptr ? integer_argument(*value) : Result<int64_t>(fallback);
}

Result<std::string> string_argument(const Value& value, std::string_view function) {
    if (value.is(Type::string))
        return value.string();
    return type_error("{}() argument must be str, not {}", function, type_name(value));
}

Result<OptionalValue> bound_method(Machine& machine, const Value& self, const Native& native) {
    ETNA_TRY(auto method, machine.object<BoundMethod>(self.depth() + 1, self, native));
    return OptionalValue(std::move(method));
}

} // namespace etna::jinja
