#pragma once

#include "core/chat/jinja/machine.hpp"
#include "core/chat/jinja/object.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace etna::chat::jinja {

/// Arguments of a native function, put to its parameters.
struct Bound {
    std::vector<std::optional<Value>> named; ///< in the order of the parameters
    Arguments all;                           ///< of a function that takes any ("*")

    /// Null where it was not given.
    [[nodiscard]] const Value* at(std::size_t place) const { return named[place] ? &*named[place] : nullptr; }
};

/// A function of Python or Jinja that is built in: a method, a filter or a test. `self` is the object, or
/// what stands before | or `is`.
struct Native {
    std::string_view name;
    std::string_view parameters; ///< separated by a space; "*" takes any, "/..." none by name
    std::size_t required;        ///< how many of them must be given
    Result<Value> (*run)(Machine& machine, const Value& self, const Bound& arguments);
};

/// TypeError where the arguments do not fit the parameters.
Result<Bound> bind(const Native& native, Arguments arguments);

const Native* find_native(std::span<const Native> table, std::string_view name); ///< null where it is not

/// Calls `native` with arguments that are not yet bound.
Result<Value> call_native(Machine& machine, const Native& native, const Value& self, Arguments arguments);

/// Arguments of a type; TypeError with the parameter's name where it is of another one.
Result<int64_t> integer_argument(const Value& value);
Result<std::string> string_argument(const Value& value, std::string_view function);

/// `value.name` as a value.
Result<Value> bound_method(Machine& machine, const Value& self, const Native& native);

} // namespace etna::chat::jinja
