#pragma once

#include "core/jinja/value.hpp"

#include <optional>

namespace etna::jinja {

class Machine;

/// Arguments of a call.
struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keyword;

    /// Removes and returns the keyword argument.
    std::optional<Value> take(std::string_view name);
};

/// Single-pass iterator over an iterable value.
class Cursor {
public:
    Cursor() = default;
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;
    virtual ~Cursor() = default;

    /// Returns the next item; nothing at the end.
    virtual Result<std::optional<Value>> next(Machine& machine) = 0;
};

/// Base class of values that are not plain data: macros, loops, namespaces, generators, ranges, bound
/// methods, ...
class Object : public std::enable_shared_from_this<Object> {
public:
    explicit Object(std::size_t depth = 0) : depth_(depth) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;

    [[nodiscard]] virtual std::string_view type_name() const = 0;
    /// Owner's name in errors of undefined values: "generator object", "jinja2.utils.Namespace object".
    [[nodiscard]] virtual std::string owner_name() const { return std::string(type_name()) + " object"; }
    virtual Result<std::string> repr(Machine& machine) = 0;

    [[nodiscard]] virtual bool is_hashable() const { return true; }
    [[nodiscard]] virtual bool is_callable() const { return false; }
    virtual Result<Value> call(Machine& machine, Arguments&& arguments);

    /// Returns the number of items; nothing if Python's len() raises.
    virtual Result<std::optional<std::size_t>> length(Machine& machine);
    /// Returns the item at a valid index; nothing if the object is not indexable.
    [[nodiscard]] virtual std::optional<Value> item(std::size_t place) const;
    [[nodiscard]] virtual bool is_indexable() const { return false; }
    /// Returns null if the object is not iterable.
    virtual Result<std::unique_ptr<Cursor>> iterate(Machine& machine);
    /// Iterates from the last item to the first; returns null if Python's reversed() raises.
    virtual Result<std::unique_ptr<Cursor>> iterate_reversed(Machine& machine);
    /// Returns the attribute of that name; nothing if there is none.
    virtual Result<std::optional<Value>> attribute(Machine& machine, std::string_view name);

    /// Releases all values that it holds, to break cycles at the end of a rendering.
    virtual void clear() {}

    [[nodiscard]] std::size_t depth() const { return depth_; }

private:
    std::size_t depth_;
};

} // namespace etna::jinja
