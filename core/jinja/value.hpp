#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace etna::jinja {

/// Counts the bytes held by a rendering's strings and containers.
struct Memory {
    std::size_t live_bytes = 0;
};

/// Bytes charged to a Memory during the lifetime of this object. The Memory (borrowed; none for values made
/// by the caller of a rendering) outlives every value of its rendering.
class Charge {
public:
    Charge() = default;
    Charge(Memory& memory, std::size_t bytes) { attach(memory, bytes); }
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge() {
        if (memory_ != nullptr)
            memory_->live_bytes -= bytes_;
    }
    void attach(Memory& memory, std::size_t bytes) {
        memory_ = &memory;
        grow(bytes);
    }
    void grow(std::size_t bytes) {
        bytes_ += bytes;
        if (memory_ != nullptr)
            memory_->live_bytes += bytes;
    }

private:
    Memory* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

/// A string in UTF-8. Markup is the result of `safe` and `escape`: adding a plain string to it escapes that
/// string. An integer of more than 64 bits is the text of its decimal digits.
struct Text {
    enum class Kind : uint8_t { plain, markup, integer };

    explicit Text(std::string text, Kind kind_of_text = Kind::plain)
        : bytes(std::move(text)), kind(kind_of_text) {}
    Text(std::string text, Kind kind_of_text, Memory& memory, std::size_t size)
        : bytes(std::move(text)), kind(kind_of_text), charge(memory, size) {}

    std::string bytes;
    Kind kind;
    Charge charge;
};

class Object;
struct Dict;
struct List;
struct Missing;

struct None {
    bool operator==(const None& other) const = default;
};

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
/// containers are shared. A rendering mutates only lists and dicts that it made.
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
    explicit Value(std::shared_ptr<const Text> text) : content_(std::move(text)) {}
    explicit Value(std::shared_ptr<List> list) : content_(std::move(list)) {}
    explicit Value(std::shared_ptr<Dict> dict) : content_(std::move(dict)) {}
    explicit Value(std::shared_ptr<Object> object) : content_(std::move(object)) {}

    /// Containers for the caller of a rendering. A dict preserves the order of its entries; of two entries
    /// with the same key, the last value counts.
    static Value list(std::vector<Value> items);
    static Value dict(std::vector<std::pair<std::string, Value>> entries);

    [[nodiscard]] Type type() const;
    [[nodiscard]] bool is(Type type) const { return this->type() == type; }
    [[nodiscard]] bool is_sequence() const { return std::holds_alternative<std::shared_ptr<List>>(content_); }

    /// Precondition of each accessor: the value has its type.
    [[nodiscard]] bool boolean() const { return std::get<bool>(content_); }
    [[nodiscard]] int64_t integer() const { return std::get<int64_t>(content_); }
    [[nodiscard]] double real() const { return std::get<double>(content_); }
    /// a string, or the digits of a large integer
    [[nodiscard]] const std::string& string() const { return text().bytes; }
    [[nodiscard]] bool is_markup() const { return is(Type::string) && text().kind == Text::Kind::markup; }
    /// list or tuple
    [[nodiscard]] const std::shared_ptr<List>& sequence() const {
        return std::get<std::shared_ptr<List>>(content_);
    }
    [[nodiscard]] const std::shared_ptr<Dict>& dict() const {
        return std::get<std::shared_ptr<Dict>>(content_);
    }
    [[nodiscard]] const std::shared_ptr<Object>& object() const {
        return std::get<std::shared_ptr<Object>>(content_);
    }
    /// null for an undefined value without details
    [[nodiscard]] const Missing* missing() const {
        return std::get<std::shared_ptr<const Missing>>(content_).get();
    }

    /// Whether both are identical (Python's `is`; equal scalars count as identical).
    [[nodiscard]] bool same_as(const Value& other) const;

    /// Nesting depth of containers; 0 if the value is not a container.
    [[nodiscard]] std::size_t depth() const;

private:
    [[nodiscard]] const Text& text() const { return *std::get<std::shared_ptr<const Text>>(content_); }

    std::variant<std::shared_ptr<const Missing>, None, bool, int64_t, double, std::shared_ptr<const Text>,
                 std::shared_ptr<List>, std::shared_ptr<Dict>, std::shared_ptr<Object>>
        content_;
};

/// Returns Python's name of a value's type: "str", "NoneType", "list", ...
std::string_view type_name(const Value& value);

/// A list, or a tuple if `is_tuple`.
struct List {
    std::vector<Value> items;
    std::size_t depth = 1; ///< at construction; a list that grew later may be deeper
    bool is_tuple = false;
    bool is_kept = false; ///< by the Machine, which clears it after the rendering
    Charge charge;

    void clear() { items.clear(); }
};

/// Entries in insertion order, looked up by Python's key equality (1 == 1.0 == True).
struct Dict {
    struct Entry {
        Value key;
        Value value;
    };
    std::vector<Entry> entries;
    std::unordered_multimap<std::size_t, std::size_t> index; ///< hash of the key -> index in `entries`
    std::size_t depth = 1;
    bool is_kept = false; ///< as in List
    Charge charge;

    /// Precondition of all lookups: is_hashable(key).
    [[nodiscard]] std::optional<std::size_t> position(const Value& key) const;
    [[nodiscard]] const Value* find(const Value& key) const; ///< null if not found
    [[nodiscard]] const Value* find(std::string_view key) const;
    void set(const Value& key, Value value);
    void erase(std::size_t position);
    void clear() {
        entries.clear();
        index.clear();
    }
};

/// Reason why a value is undefined. The reference's error message is built from it on demand.
struct Missing {
    std::string hint = {};  ///< the full message, or empty
    std::string owner = {}; ///< "dict object", "None"; empty if a variable was looked up
    Value name = None{};    ///< name or index of the lookup
};

/// Returns an undefined value whose use is an error with this message.
Value undefined(std::string hint);

/// Whether the value can be a key: anything but lists, dicts, large integers and tuples that contain them.
bool is_hashable(const Value& value);

} // namespace etna::jinja
