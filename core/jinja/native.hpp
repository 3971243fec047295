#pragma once

#include "core/jinja/machine.hpp"
#include "core/jinja/object.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace etna::jinja {

/// Arguments of a native function, bound to its parameters.
struct Bound {
    std::vector<std::optional<Value>> named; ///< in parameter order
    Arguments all;                           ///< for a function that takes any arguments ("*")

    /// Returns null if the argument was not given.
    [[nodiscard]] const Value* at(std::size_t place) const { return named[place] ? &*named[place] : nullptr; }
};

/// A built-in function of Python or Jinja: a method, a filter or a test. `self` is the object, or the left
/// operand of | or `is`.
struct Native {
    std::string_view name;
    std::string_view parameters; ///< separated by spaces; "*": any; "/...": positional only
    std::size_t required;        ///< number of required parameters
    Result<Value> (*run)(Machine& machine, const Value& self, const Bound& arguments);
};

/// TypeError if the arguments do not match the parameters.
Result<Bound> bind(const Native& native, Arguments arguments);

const Native* find_native(std::span<const Native> table, std::string_view name); ///< null if not found

/// Binds the arguments and calls `native`.
Result<Value> call_native(Machine& machine, const Native& native, const Value& self, Arguments arguments);

/// Converts an argument to a type; TypeError if it has another one.
Result<int64_t> integer_argument(const Value& value);
Result<std::string> string_argument(const Value& value, std::string_view function);

/// Returns `self.name` as a value.
Result<Value> bound_method(Machine& machine, const Value& self, const Native& native);

} // namespace etna::jinja
