#include "core/jinja/native.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/numbers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        result.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

class BoundMethod final : public Object {
public:
    BoundMethod(std::size_t depth, Value self, const Native& native)
        : Object(depth), self_(std::move(self)), native_(&native) {}

    [[nodiscard]] std::string_view type_name() const override { return "builtin_function_or_method"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        return fmt::format("<built-in method {} of {} object>", native_->name, jinja::type_name(self_));
    }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& machine, Arguments&& arguments) override {
        return call_native(machine, *native_, self_, std::move(arguments));
    }

private:
    Value self_;
    const Native* native_; ///< static
};

} // namespace

const Native* find_native(std::span<const Native> table, std::string_view name) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Native& each) { return each.name == name; });
    return found == table.end() ? nullptr : &*found;
}

Result<Bound> bind(const Native& native, Arguments arguments) {
    Bound bound;
    if (native.parameters == "*") {
        bound.all = std::move(arguments);
        return bound;
    }
    const bool is_positional = native.parameters.substr(0, 1) == "/";
    const auto parameters = words(native.parameters.substr(is_positional ? 1 : 0));
    if (is_positional && !arguments.keyword.empty())
        return type_error(fmt::format("{}() takes no keyword arguments", native.name));
    if (arguments.positional.size() > parameters.size()) {
        return type_error(fmt::format("{}() takes at most {} argument{} ({} given)", native.name,
                                      parameters.size(), parameters.size() == 1 ? "" : "s",
                                      arguments.positional.size()));
    }
    bound.named.assign(arguments.positional.begin(), arguments.positional.end());
    bound.named.resize(parameters.size());
    for (auto& [name, value] : arguments.keyword) {
        const auto place = std::find(parameters.begin(), parameters.end(), name);
        if (place == parameters.end())
            return type_error(fmt::format("{}() got an unexpected keyword argument '{}'", native.name, name));
        auto& slot = bound.named[static_cast<std::size_t>(place - parameters.begin())];
        if (slot)
            return type_error(fmt::format("{}() got multiple values for argument '{}'", native.name, name));
        slot = std::move(value);
    }
    for (std::size_t i = 0; i < native.required; ++i) {
        if (!bound.named[i]) {
            return type_error(fmt::format("{}() missing required argument '{}' (pos {})", native.name,
                                          parameters[i], i + 1));
        }
    }
    return bound;
}

Result<Value> call_native(Machine& machine, const Native& native, const Value& self, Arguments arguments) {
    ETNA_TRY(const auto bound, bind(native, std::move(arguments)));
    return native.run(machine, self, bound);
}

Result<int64_t> integer_argument(const Value& value) {
    if (const auto integer = integer_of(value))
        return *integer;
    if (value.is(Type::large))
        return python_error("OverflowError", "Python int too large to convert to C ssize_t");
    return type_error(fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
}

Result<std::string> string_argument(const Value& value, std::string_view function) {
    if (value.is(Type::string))
        return value.string();
    return type_error(fmt::format("{}() argument must be str, not {}", function, type_name(value)));
}

Result<Value> bound_method(Machine& machine, const Value& self, const Native& native) {
    return machine.object<BoundMethod>(self.depth() + 1, self, native);
}

} // namespace etna::jinja
