#pragma once

#include "core/chat/jinja/value.hpp"

#include <optional>

namespace etna::chat::jinja {

class Machine;

/// What stands between the brackets of a call.
struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keyword;

    /// Removes and returns the keyword argument.
    std::optional<Value> take(std::string_view name);
};

/// Gives the items of something iterable, once and in order.
class Cursor {
public:
    Cursor() = default;
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;
    virtual ~Cursor() = default;

    /// The next item, or nothing at the end.
    virtual Result<std::optional<Value>> next(Machine& machine) = 0;
};

/// Every value that is no plain data: macros, loops, namespaces, generators, ranges, bound methods, ...
class Object : public std::enable_shared_from_this<Object> {
public:
    explicit Object(std::size_t depth = 0) : depth_(depth) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;

    [[nodiscard]] virtual std::string_view type_name() const = 0;
    /// As undefined values name their owner: "generator object", "jinja2.utils.Namespace object".
    [[nodiscard]] virtual std::string owner_name() const { return std::string(type_name()) + " object"; }
    virtual Result<std::string> repr(Machine& machine) = 0;

    [[nodiscard]] virtual bool is_hashable() const { return true; }
    [[nodiscard]] virtual bool is_callable() const { return false; }
    virtual Result<Value> call(Machine& machine, Arguments&& arguments);

    /// Number of items, or nothing where Python's len() raises.
    virtual Result<std::optional<std::size_t>> length(Machine& machine);
    /// The item at a valid place of something with a length and indices; nothing where there are no indices.
    [[nodiscard]] virtual std::optional<Value> item(std::size_t place) const;
    [[nodiscard]] virtual bool is_indexable() const { return false; }
    /// Null where it is not iterable.
    virtual Result<std::unique_ptr<Cursor>> iterate(Machine& machine);
    /// Items from the last to the first; null where Python's reversed() raises.
    virtual Result<std::unique_ptr<Cursor>> iterate_reversed(Machine& machine);
    /// What the name means after a dot; nothing where there is no such attribute.
    virtual Result<std::optional<Value>> attribute(Machine& machine, std::string_view name);

    /// Lets go of every value that it holds (against cycles, at the end of a rendering).
    virtual void clear() {}

    [[nodiscard]] std::size_t depth() const { return depth_; }

private:
    std::size_t depth_;
};

} // namespace etna::chat::jinja
