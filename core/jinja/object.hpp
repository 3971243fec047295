#pragma once

#include "core/jinja/value.hpp"

#include <functional>
#include <optional>
#include <span>

namespace etna::jinja {

class Machine;

using OptionalValue = std::optional<Value>;

/// Arguments of a call.
struct Arguments {
    std::vector<Value> positional = {};
    std::vector<std::pair<std::string, Value>> keyword = {};

    /// Removes and returns the keyword argument.
    OptionalValue take(std::string_view name);
};

/// Single-pass iterator: each call returns the next item; nothing at the end.
using Cursor = std::function<Result<OptionalValue>(Machine& machine)>;

/// Base class of values that are not plain data: macros, loops, namespaces, generators, ranges, bound
/// methods, ... None of them can be printed.
class Object {
public:
    explicit Object(std::size_t depth = 0) : depth_(depth) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;

    [[nodiscard]] virtual std::string_view type_name() const = 0;
    /// Owner's name in errors of undefined values: "generator object", "jinja2.utils.Namespace object".
    [[nodiscard]] virtual std::string owner_name() const { return std::string(type_name()) + " object"; }

    [[nodiscard]] virtual bool is_callable() const { return false; }
    virtual Result<Value> call(Machine& machine, Arguments&& arguments);

    /// Returns the number of items; nothing if Python's len() raises.
    virtual Result<std::optional<std::size_t>> length(Machine& /*machine*/) {
        return std::optional<std::size_t>();
    }
    /// Returns an empty cursor if the object is not iterable.
    virtual Cursor iterate() { return {}; }
    /// Returns the items that can be looked up by index; null if there are none.
    [[nodiscard]] virtual const List* indexed_items() const { return nullptr; }
    /// Returns the attribute of that name; nothing if there is none.
    virtual Result<OptionalValue> attribute(Machine& /*machine*/, std::string_view /*name*/) {
        return OptionalValue();
    }

    /// Releases all values that it holds, to break cycles at the end of a rendering.
    virtual void clear() {}

    [[nodiscard]] std::size_t depth() const { return depth_; }

    bool is_kept = false; ///< by the Machine, which clears it after the rendering

private:
    std::size_t depth_;
};

/// Arguments of a native function, bound to its parameters.
struct Bound {
    std::vector<OptionalValue> named; ///< in parameter order
    Arguments all;                    ///< for a function that takes any arguments ("*")

    /// Returns null if the argument was not given.
    [[nodiscard]] const Value* at(std::size_t index) const { return named[index] ? &*named[index] : nullptr; }
    /// Returns null if the argument was not given, or was given as None.
    [[nodiscard]] const Value* not_none(std::size_t index) const {
        return named[index] && !named[index]->is(Type::none) ? &*named[index] : nullptr;
    }
};

/// A built-in function of Python or Jinja: a method, a filter or a test. `self` is the object, or the left
/// operand of | or `is`.
struct Native {
    std::string_view name;
    std::string_view parameters; ///< separated by spaces; "*": any; "/...": positional only
    std::size_t required;        ///< number of required parameters
    Result<Value> (*run)(Machine& machine, const Value& self, const Bound& arguments);
};

const Native* find_native(std::span<const Native> table, std::string_view name); ///< null if not found

/// Binds the arguments and calls `native`. TypeError if they do not match the parameters.
Result<Value> call_native(Machine& machine, const Native& native, const Value& self, Arguments arguments);

/// Converts an argument to a type; TypeError if it has another one. An absent argument is the fallback.
Result<int64_t> integer_argument(const Value& value);
Result<int64_t> integer_argument(const Value* value, int64_t fallback);
Result<std::string> string_argument(const Value& value, std::string_view function);

/// Returns `self.name` as a value.
Result<OptionalValue> bound_method(Machine& machine, const Value& self, const Native& native);

} // namespace etna::jinja
