#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace etna::chat::jinja {

class Object;
class Value;
struct Dict;
struct LargeInteger;
struct List;
struct Missing;
struct Text;

struct None {};

/// Python's int is `integer` where it has at most 64 bits, else `large`.
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

/// What a template computes with: Python's values as far as templates meet them. Copies are cheap: strings
/// and containers are shared. A string never changes; lists and dicts do only where a rendering mutates its
/// own. Values given to a rendering are copied first, so that one Value may serve many threads.
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
    Value(int) = delete;                                              ///< say int64_t or bool
    explicit Value(std::shared_ptr<const Missing> missing) : content_(std::move(missing)) {}
    explicit Value(std::shared_ptr<const LargeInteger> integer) : content_(std::move(integer)) {}
    explicit Value(std::shared_ptr<const Text> text) : content_(std::move(text)) {}
    explicit Value(std::shared_ptr<List> list) : content_(std::move(list)) {}
    explicit Value(std::shared_ptr<Dict> dict) : content_(std::move(dict)) {}
    explicit Value(std::shared_ptr<Object> object) : content_(std::move(object)) {}

    /// Containers made by the caller of a rendering. A dict keeps the order of its entries; of two with the
    /// same key the last value counts.
    static Value list(std::vector<Value> items);
    static Value dict(std::vector<std::pair<std::string, Value>> entries);

    [[nodiscard]] Type type() const;
    [[nodiscard]] bool is(Type type) const { return this->type() == type; }
    [[nodiscard]] bool is_sequence() const { return std::holds_alternative<std::shared_ptr<List>>(content_); }

    /// Precondition of each: the type that it names.
    [[nodiscard]] bool boolean() const { return std::get<bool>(content_); }
    [[nodiscard]] int64_t integer() const { return std::get<int64_t>(content_); }
    [[nodiscard]] const LargeInteger& large() const;
    [[nodiscard]] double real() const { return std::get<double>(content_); }
    [[nodiscard]] const std::string& string() const;
    [[nodiscard]] bool is_markup() const; ///< a string that `safe` or `escape` made; false for other types
    [[nodiscard]] const std::shared_ptr<List>& sequence() const; ///< list or tuple
    [[nodiscard]] const std::shared_ptr<Dict>& dict() const;
    [[nodiscard]] const std::shared_ptr<Object>& object() const;
    [[nodiscard]] const Missing* missing() const; ///< null where nothing is known of an undefined value

    /// Whether both are the very same thing (Python's `is`, with equal scalars taken as the same).
    [[nodiscard]] bool same_as(const Value& other) const;

    /// How many containers lie in each other here; 0 for what is no container.
    [[nodiscard]] std::size_t depth() const;

private:
    std::variant<std::shared_ptr<const Missing>, None, bool, int64_t, std::shared_ptr<const LargeInteger>,
                 double, std::shared_ptr<const Text>, std::shared_ptr<List>, std::shared_ptr<Dict>,
                 std::shared_ptr<Object>>
        content_;
};

/// Python's name of a value's type: "str", "NoneType", "list", ...
std::string_view type_name(const Value& value);

} // namespace etna::chat::jinja
