#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace etna::jinja {

class Object;
class Value;
struct Dict;
struct LargeInteger;
struct List;
struct Missing;
struct Text;

struct None {};

/// Python's int is `integer` if it fits 64 bits, else `large`.
enum class Type : uint8_t {
    undefined,
    none,
    boolean,
    integer,
    large,
    real,
    string,
    list,
    tuple,
    dict,
    object
};

/// A value of a template: the subset of Python's values that templates use. Copies are cheap: strings and
/// containers are shared. Strings are immutable; a rendering mutates only lists and dicts that it made.
/// Inputs of a rendering are copied first, so that threads can share a Value.
class Value {
public:
    Value();                                      ///< an undefined value without a name
    Value(None) : content_(None{}) {}             // NOLINT(google-explicit-constructor)
    Value(bool boolean) : content_(boolean) {}    // NOLINT(google-explicit-constructor)
    Value(int64_t integer) : content_(integer) {} // NOLINT(google-explicit-constructor)
    Value(double real) : content_(real) {}        // NOLINT(google-explicit-constructor)
    Value(std::string_view text);                 // NOLINT(google-explicit-constructor): UTF-8
    Value(const std::string& text) : Value(std::string_view(text)) {} // NOLINT(google-explicit-constructor)
    Value(const char* text) : Value(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)
    Value(int) = delete;                                              ///< use int64_t or bool
    explicit Value(std::shared_ptr<const Missing> missing) : content_(std::move(missing)) {}
    explicit Value(std::shared_ptr<const LargeInteger> integer) : content_(std::move(integer)) {}
    explicit Value(std::shared_ptr<const Text> text) : content_(std::move(text)) {}
    explicit Value(std::shared_ptr<List> list) : content_(std::move(list)) {}
    explicit Value(std::shared_ptr<Dict> dict) : content_(std::move(dict)) {}
    explicit Value(std::shared_ptr<Object> object) : content_(std::move(object)) {}

    /// Containers for the caller of a rendering. A dict keeps the order of its entries; of two entries with
    /// the same key, the last value counts.
    static Value list(std::vector<Value> items);
    static Value dict(std::vector<std::pair<std::string, Value>> entries);

    [[nodiscard]] Type type() const;
    [[nodiscard]] bool is(Type type) const { return this->type() == type; }
    [[nodiscard]] bool is_sequence() const { return std::holds_alternative<std::shared_ptr<List>>(content_); }

    /// Precondition of each accessor: the value has its type.
    [[nodiscard]] bool boolean() const { return std::get<bool>(content_); }
    [[nodiscard]] int64_t integer() const { return std::get<int64_t>(content_); }
    [[nodiscard]] const LargeInteger& large() const;
    [[nodiscard]] double real() const { return std::get<double>(content_); }
    [[nodiscard]] const std::string& string() const;
    [[nodiscard]] bool is_markup() const; ///< a string from `safe` or `escape`; false for other types
    [[nodiscard]] const std::shared_ptr<List>& sequence() const; ///< list or tuple
    [[nodiscard]] const std::shared_ptr<Dict>& dict() const;
    [[nodiscard]] const std::shared_ptr<Object>& object() const;
    [[nodiscard]] const Missing* missing() const; ///< null for an undefined value without details

    /// Whether both are identical (Python's `is`; equal scalars count as identical).
    [[nodiscard]] bool same_as(const Value& other) const;

    /// Nesting depth of containers; 0 if the value is not a container.
    [[nodiscard]] std::size_t depth() const;

private:
    std::variant<std::shared_ptr<const Missing>, None, bool, int64_t, std::shared_ptr<const LargeInteger>,
                 double, std::shared_ptr<const Text>, std::shared_ptr<List>, std::shared_ptr<Dict>,
                 std::shared_ptr<Object>>
        content_;
};

/// Returns Python's name of a value's type: "str", "NoneType", "list", ...
std::string_view type_name(const Value& value);

} // namespace etna::jinja
