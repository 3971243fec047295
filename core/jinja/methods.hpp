#pragma once

#include "core/jinja/native.hpp"

#include <optional>

namespace etna::jinja {

/// Methods of Python's built-in types. Mutating methods are in separate tables, because the sandbox may
/// refuse them.
std::span<const Native> string_methods();
std::span<const Native> string_questions(); ///< find, count, startswith, isalpha, ...: no strings
std::span<const Native> string_translations();
std::span<const Native> list_methods();
std::span<const Native> tuple_methods();
std::span<const Native> dict_methods();
std::span<const Native> number_methods(Type type);
std::span<const Native> list_mutations();
std::span<const Native> dict_mutations();

/// Returns real, imag, numerator or denominator; nothing for any other name. Precondition: is_number(number).
Result<std::optional<Value>> number_attribute(Machine& machine, const Value& number, std::string_view name);

} // namespace etna::jinja
