#pragma once

#include "core/jinja/value.hpp"

#include <optional>
#include <unordered_map>

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

/// A string (UTF-8). Markup is the result of `safe` and `escape`: it escapes a plain string that is joined
/// with it.
struct Text {
    explicit Text(std::string text) : bytes(std::move(text)) {}
    Text(std::string text, bool is_markup, Memory& memory, std::size_t size)
        : bytes(std::move(text)), markup(is_markup), charge(memory, size) {}

    std::string bytes;
    bool markup = false;
    Charge charge;
};

/// An integer of more than 64 bits.
struct LargeInteger {
    std::string decimal; ///< digits without leading zeros; starts with - if negative
    Charge charge = {};
};

/// A list, or a tuple if `is_tuple`.
struct List {
    std::vector<Value> items;
    std::size_t depth = 1; ///< at construction; a list that grew later may be deeper
    bool is_tuple = false;
    bool is_group = false;   ///< a tuple from groupby, with the attributes `grouper` and `list`
    bool is_mutated = false; ///< owned by the Machine, which clears it at the end of the rendering
    Charge charge;
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
    bool is_mutated = false;
    Charge charge;

    /// Precondition of all lookups: is_hashable(key).
    [[nodiscard]] std::optional<std::size_t> position(const Value& key) const;
    [[nodiscard]] const Value* find(const Value& key) const; ///< null if not found
    [[nodiscard]] const Value* find(std::string_view key) const;
    void set(const Value& key, Value value);
    void erase(std::size_t position);
};

/// Reason why a value is undefined. The reference's error message is built from it on demand.
struct Missing {
    std::string hint = {};  ///< the complete message, or empty
    std::string owner = {}; ///< "dict object", "None"; empty if a variable was looked up
    Value name = None{};    ///< name or index of the lookup
    bool is_unsafe = false; ///< refused by the sandbox: a SecurityError
};

/// Returns an undefined value whose use is an error with this message.
Value undefined(std::string hint);

/// Whether Python accepts the value as a key: anything but lists, dicts and tuples that contain them.
bool is_hashable(const Value& value);

/// Hash and equality of keys. Precondition: is_hashable() of each.
std::size_t hash_of(const Value& key);
bool keys_equal(const Value& left, const Value& right);

} // namespace etna::jinja
