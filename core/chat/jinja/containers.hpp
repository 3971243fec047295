#pragma once

#include "core/chat/jinja/value.hpp"

#include <optional>
#include <unordered_map>

namespace etna::chat::jinja {

/// Counts the bytes that a rendering's strings and containers hold.
struct Memory {
    std::size_t live_bytes = 0;
};

/// Bytes counted in a Memory for as long as this lives. The Memory (borrowed; none for what the caller of a
/// rendering made) outlives every value of its rendering.
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

/// A string's bytes (UTF-8). Markup is what `safe` and `escape` make: joined with a plain string it escapes
/// it.
struct Text {
    explicit Text(std::string text) : bytes(std::move(text)) {}
    Text(std::string text, bool is_markup, Memory& memory, std::size_t size)
        : bytes(std::move(text)), markup(is_markup), charge(memory, size) {}

    std::string bytes;
    bool markup = false;
    Charge charge;
};

/// An integer that does not fit into 64 bits.
struct LargeInteger {
    std::string decimal; ///< its digits without zeros in front, after a - where it is negative
    Charge charge = {};
};

/// A list or, where `is_tuple`, a tuple.
struct List {
    std::vector<Value> items;
    std::size_t depth = 1; ///< when it was made; a list that grew later may be deeper
    bool is_tuple = false;
    bool is_group = false;   ///< a tuple of groupby, whose items are also `grouper` and `list`
    bool is_mutated = false; ///< the rendering keeps it alive and takes it apart at its end
    Charge charge;
};

/// Entries in the order of insertion, found by Python's equality of keys (1 == 1.0 == True).
struct Dict {
    struct Entry {
        Value key;
        Value value;
    };
    std::vector<Entry> entries;
    std::unordered_multimap<std::size_t, std::size_t> index; ///< hash of the key -> place in `entries`
    std::size_t depth = 1;
    bool is_mutated = false;
    Charge charge;

    /// Precondition of all: is_hashable(key).
    [[nodiscard]] std::optional<std::size_t> position(const Value& key) const;
    [[nodiscard]] const Value* find(const Value& key) const; ///< null where it is not
    [[nodiscard]] const Value* find(std::string_view key) const;
    void set(const Value& key, Value value);
    void erase(std::size_t position);
};

/// Why a value is undefined; the message that the reference would raise is made from it when it is needed.
struct Missing {
    std::string hint = {};  ///< the whole message, or empty
    std::string owner = {}; ///< "dict object", "None", or empty where a variable was looked up
    Value name = None{};    ///< name or index that was looked up
    bool is_unsafe = false; ///< refused by the sandbox, a SecurityError
};

/// An undefined value whose use is an error with this message.
Value undefined(std::string hint);

/// Whether Python could use it as a key: everything but lists, dicts and tuples that hold such.
bool is_hashable(const Value& value);

/// Hash and equality of keys. Precondition: is_hashable() of each.
std::size_t hash_of(const Value& key);
bool keys_equal(const Value& left, const Value& right);

} // namespace etna::chat::jinja
