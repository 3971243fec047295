#pragma once

#include "core/grammar/schema/json_numbers.hpp"
#include "core/grammar/schema/json_value.hpp"

#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::grammar {

/// An assertion about a JSON value: that it does or does not match a schema, or equal a constant. Borrows the
/// document.
struct Claim {
    enum class Kind : uint8_t { schema, constant };

    const JsonValue* value = nullptr; ///< null: any value matches
    Kind kind = Kind::schema;
    bool is_negated = false;

    static Claim nothing() { return {.is_negated = true}; }
    [[nodiscard]] Claim negated() const { return {.value = value, .kind = kind, .is_negated = !is_negated}; }
    /// A number that is unique in the document.
    [[nodiscard]] uint64_t key() const;
    /// Ordered by position in the document.
    std::strong_ordering operator<=>(const Claim& other) const;
    bool operator==(const Claim& other) const = default;
};

/// A conjunction. Sorted and without duplicates if used as a key.
using Claims = std::vector<Claim>;

/// Set of JSON value kinds, one bit each: numbers with a fraction are a separate kind, and so are true and
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

/// A range of counts of characters, items or members.
struct CountRange {
    uint32_t min = 0;
    uint32_t max = unbounded;

    void join(const CountRange& other);
    [[nodiscard]] bool is_empty() const { return min > max; }
    bool operator==(const CountRange&) const = default;
};

struct NumberConstraints {
    /// A condition on a number: it is a multiple of `value`.
    struct Divisor {
        Decimal value = {};
        const JsonValue* schema = nullptr; ///< for errors
        bool operator==(const Divisor& other) const { return value == other.value; }
    };

    std::optional<Bound> lower = {};
    std::optional<Bound> upper = {};
    std::vector<Divisor> divisors = {};
};

struct StringConstraints {
    /// A condition on a string, possibly negated: it contains a match of a pattern, has a format, or is a
    /// text of a Lark grammar.
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
    std::optional<std::vector<std::string>> values = {}; ///< allowed values
    std::vector<std::string> excluded = {};
};

struct ArrayConstraints {
    /// Claims by position, and for all later positions.
    struct Items {
        std::vector<Claim> first = {};
        Claim rest = {};
    };
    /// Requires that `count` items match `claim`, from a position on.
    struct Contained {
        Claim claim = {};
        uint32_t from = 0;
        CountRange count = {};
    };

    CountRange count = {};
    std::vector<Items> items = {};
    std::vector<Contained> contained = {};
    const JsonValue* unique = nullptr; ///< the schema that requires distinct items, or null
};

struct ObjectConstraints {
    using Named = std::pair<std::string, Claim>;

    /// The claims of one schema on members: by name, by pattern, and on all that match neither.
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
    std::vector<Claim> names = {}; ///< on each name, as a string
};

/// The constraints on a JSON value: its kind is one of `kinds`, and it satisfies the constraints of its kind.
struct Constraints {
    JsonKinds kinds = json_any;
    NumberConstraints number = {};
    StringConstraints string = {};
    ArrayConstraints array = {};
    ObjectConstraints object = {};

    /// Intersects with `other`. Removes kinds for which that is impossible.
    void join(const Constraints& other);
    /// A superset of the kinds that join() would leave, at less cost.
    [[nodiscard]] JsonKinds kinds_with(const Constraints& other) const;
    /// Approximate number of values that join() compares.
    [[nodiscard]] std::size_t cost_of_join(const Constraints& other) const;
    /// Approximate memory use in bytes.
    [[nodiscard]] std::size_t bytes() const;
};

} // namespace etna::grammar
