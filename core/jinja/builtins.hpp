#pragma once

#include "core/jinja/ast.hpp"
#include "core/jinja/machine.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Filters, tests, global functions and methods. README.md lists them with their reasons.
namespace etna::jinja {

bool is_filter(std::string_view name);
bool is_test(std::string_view name);
/// Functions and methods of Jinja and Python that etna does not have, so that create() can refuse them. Other
/// names can be macros or values of the conversation.
bool is_refused_function(std::string_view name);
bool is_refused_method(std::string_view name);

/// Evaluates `value | name(arguments)`.
Result<Value> call_filter(Machine& machine, std::string_view name, const Value& value, Arguments arguments);
/// Evaluates `value is name(arguments)`.
Result<Value> call_test(Machine& machine, std::string_view name, const Value& value, Arguments arguments);
/// Returns a global function: range, namespace, raise_exception, strftime_now.
OptionalValue global_value(std::string_view name);

std::span<const Native> text_filters();     ///< strings and numbers
std::span<const Native> sequence_filters(); ///< lists, dicts and their items

/// Methods of Python's built-in types.
std::span<const Native> string_methods();
std::span<const Native> list_methods();
std::span<const Native> dict_methods();

/// Returns the truth value of an argument; `fallback` if it is null.
Result<bool> flag(Machine& machine, const Value* argument, bool fallback);

/// Returns indices into `keys` in the order of Python's stable sort; `before` is less or greater. TypeError
/// if two keys cannot be compared.
Result<std::vector<std::size_t>> sorted_order(Machine& machine, const std::vector<Value>& keys,
                                              Comparison before);

/// The result of namespace(): the only type with attributes that a template can assign.
class Namespace final : public Object {
public:
    explicit Namespace(std::size_t depth) : Object(depth) {}

    Status set(Machine& machine, std::string_view name, const Value& value);

    [[nodiscard]] std::string_view type_name() const override { return "Namespace"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.utils.Namespace object"; }
    Result<OptionalValue> attribute(Machine& machine, std::string_view name) override;
    void clear() override { attributes_.clear(); }

private:
    Dict attributes_;
};

/// Returns null for any other object.
Namespace* as_namespace(Object& object);

} // namespace etna::jinja
