#pragma once

#include "core/grammar/json_numbers.hpp"
#include "core/grammar/schema/json_value.hpp"

#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::grammar {

/// What is said of a JSON value: that it fits a schema, or equals a constant; or that it does not. Borrows
/// the document.
struct Claim {
    enum class Kind : uint8_t { schema, constant };

    const JsonValue* value = nullptr; ///< null: any value fits
    Kind kind = Kind::schema;
    bool is_negated = false;

    static Claim nothing() { return {.is_negated = true}; }
    [[nodiscard]] Claim negated() const { return {.value = value, .kind = kind, .is_negated = !is_negated}; }
    /// A number of its own in the document.
    [[nodiscard]] uint64_t key() const;
    /// By place in the document.
    std::strong_ordering operator<=>(const Claim& other) const;
    bool operator==(const Claim& other) const = default;
};

/// All of them hold. Sorted and each once where it is a key.
using Claims = std::vector<Claim>;

/// Kinds of JSON values, one bit each: numbers with a fraction are a kind of their own, as are true and
/// false.
using JsonKinds = uint8_t;
constexpr JsonKinds json_null = 1;
constexpr JsonKinds json_false = 2;
constexpr JsonKinds json_true = 4;
constexpr JsonKinds json_integer = 8;
constexpr JsonKinds json_fraction = 16;
constexpr JsonKinds json_string = 32;
constexpr JsonKinds json_array = 64;
constexpr JsonKinds json_object = 128;
constexpr JsonKinds json_number_kinds = json_integer | json_fraction;
constexpr JsonKinds json_any = 255;

/// How many: characters, items, members.
struct CountRange {
    uint32_t least = 0;
    uint32_t most = unbounded;

    void join(const CountRange& other);
    [[nodiscard]] bool is_empty() const { return least > most; }
    bool operator==(const CountRange&) const = default;
};

struct NumberConstraints {
    /// A number is a multiple of `value`, or is not.
    struct Divisor {
        Decimal value = {};
        bool is_negated = false;
        const JsonValue* schema = nullptr; ///< for errors
        bool operator==(const Divisor& other) const {
            return value == other.value && is_negated == other.is_negated;
        }
    };

    std::optional<Bound> least = {};
    std::optional<Bound> most = {};
    std::vector<Divisor> divisors = {};
};

struct StringConstraints {
    /// A string matches a pattern somewhere, has a format, or is a text of a grammar in Lark's notation; or
    /// not.
    struct Text {
        enum class Kind : uint8_t { pattern, name_pattern, format, lark };

        Kind kind = Kind::pattern;
        std::string text = {};
        bool is_negated = false;
        const JsonValue* schema = nullptr; ///< for errors
        bool operator==(const Text& other) const {
            return kind == other.kind && text == other.text && is_negated == other.is_negated;
        }
    };

    CountRange length = {}; ///< in characters
    std::vector<Text> texts = {};
    std::optional<std::vector<std::string>> values = {}; ///< one of them
    std::vector<std::string> excluded = {};
};

struct ArrayConstraints {
    /// Claims by position, and for all positions behind.
    struct Items {
        std::vector<Claim> first = {};
        Claim rest = {};
    };
    /// So many of the items from a position on.
    struct Contained {
        Claim claim = {};
        uint32_t from = 0;
        CountRange count = {};
    };

    CountRange count = {};
    std::vector<Items> items = {};
    std::vector<Contained> contained = {};
    const JsonValue* unique = nullptr; ///< the schema that says that no two items are equal, or null
};

struct ObjectConstraints {
    using Named = std::pair<std::string, Claim>;

    /// What one schema says of members: by name, by patterns, and of all that have neither.
    struct Members {
        std::vector<Named> named = {};
        std::vector<Named> patterns = {};
        Claim others = {};
        const JsonValue* schema = nullptr; ///< for errors
    };

    CountRange count = {};
    std::vector<Members> members = {};
    std::vector<std::string> required = {};
    std::vector<std::string> absent = {};
    std::vector<Claim> names = {}; ///< of each name, as a string
};

/// What holds for a JSON value: its kind is one of `kinds`, and it keeps to what is said of its kind.
struct Constraints {
    JsonKinds kinds = json_any;
    NumberConstraints number = {};
    StringConstraints string = {};
    ArrayConstraints array = {};
    ObjectConstraints object = {};

    /// Both hold. Kinds for which that cannot be are taken away.
    void join(const Constraints& other);
    /// The kinds that join() would leave, or more: without the work of it.
    [[nodiscard]] JsonKinds kinds_with(const Constraints& other) const;
    /// About how many values join() compares.
    [[nodiscard]] std::size_t cost_of_join(const Constraints& other) const;
    /// About how much memory it takes.
    [[nodiscard]] std::size_t bytes() const;
};

/// Takes constants that are excluded out of the bounds of ways to be, where the divisors exclude them as
/// well: the numbers below one and those above it become those of one way.
void join_around_no_multiples(std::vector<Constraints>& ways);

} // namespace etna::grammar
