#include "core/grammar/schema/json_numbers.hpp"

#include "core/grammar/schema/multiples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Sets of digits, and of unsigned numbers; without exponents.
class Digits {
public:
    explicit Digits(Language& language) : language_(&language), digit_(range('0', '9')) {}

    [[nodiscard]] Expression between(uint32_t min, uint32_t max) const {
        return language_->repeat(digit_, min, max);
    }
    [[nodiscard]] Expression any() const { return language_->repeat(digit_, 0); }
    [[nodiscard]] Expression some() const { return language_->repeat(digit_, 1); }

    /// Without leading zeros.
    [[nodiscard]] Expression integer() const {
        return language_->either(range('0', '0'), positive_integer());
    }
    [[nodiscard]] Expression positive_integer() const { return language_->sequence(range('1', '9'), any()); }

    /// The integers, and unless the kind is integer, the same with a fraction.
    [[nodiscard]] Expression with_fraction(Expression integers, NumberKind kind) const {
        if (kind == NumberKind::integer)
            return integers;
        return language_->sequence(integers, language_->optional(language_->sequence(point(), some())));
    }

    /// Numbers up to `bound`, which may be excluded.
    [[nodiscard]] Expression up_to(const Bound& bound, NumberKind kind) const {
        const Expression same = equal_integer(bound, kind, &Digits::fraction_up_to);
        return language_->either(with_fraction(integers_below(bound.value.integer), kind), same);
    }

    /// Numbers from `bound`, which may be excluded.
    [[nodiscard]] Expression from(const Bound& bound, NumberKind kind) const {
        const Expression same = equal_integer(bound, kind, &Digits::fraction_from);
        return language_->either(with_fraction(integers_above(bound.value.integer), kind), same);
    }

    [[nodiscard]] Expression range(char first, char last) const {
        if (first > last)
            return nothing;
        return language_->bytes(ByteSet::range(static_cast<uint8_t>(first), static_cast<uint8_t>(last)));
    }
    [[nodiscard]] Expression point() const { return language_->literal("."); }

private:
    using FractionSide = Expression (Digits::*)(std::string_view, bool) const;

    /// Numbers whose integer part equals the bound's: their fraction decides.
    [[nodiscard]] Expression equal_integer(const Bound& bound, NumberKind kind, FractionSide side) const {
        const std::string_view fraction = bound.value.fraction;
        const Expression digits = (this->*side)(fraction, bound.is_excluded);
        std::vector<Expression> alternatives;
        if (contains_end(digits))
            alternatives.push_back(empty);
        if (kind == NumberKind::any) { // a point must be followed by a digit
            const Expression rest =
                language_->sequence(point(), without_end(fraction, bound.is_excluded, side));
            alternatives.push_back(rest);
        }
        return language_->sequence(language_->literal(bound.value.integer), language_->either(alternatives));
    }

    [[nodiscard]] bool contains_end(Expression digits) const { return language_->is_nullable(digits); }

    /// The same, with at least one digit.
    [[nodiscard]] Expression without_end(std::string_view fraction, bool is_excluded,
                                         FractionSide side) const {
        const std::string_view rest = fraction.substr(std::min<std::size_t>(1, fraction.size()));
        const char first = fraction.empty() ? '0' : fraction.front();
        std::vector<Expression> alternatives = {
            language_->sequence(range(first, first), (this->*side)(rest, is_excluded))};
        if (side == &Digits::fraction_up_to) {
            alternatives.push_back(language_->sequence(range('0', static_cast<char>(first - 1)), any()));
        } else {
            alternatives.push_back(language_->sequence(range(static_cast<char>(first + 1), '9'), any()));
        }
        return language_->either(alternatives);
    }

    /// Digits whose value, after a point, is at most `fraction`.
    [[nodiscard]] Expression fraction_up_to(std::string_view fraction, bool is_excluded) const {
        if (fraction.empty())
            return is_excluded ? nothing : language_->repeat(range('0', '0'), 0);
        return language_->optional(without_end(fraction, is_excluded, &Digits::fraction_up_to));
    }

    [[nodiscard]] Expression fraction_from(std::string_view fraction, bool is_excluded) const {
        if (!fraction.empty())
            return without_end(fraction, is_excluded, &Digits::fraction_from);
        if (!is_excluded)
            return any();
        return language_->sequence(std::array{language_->repeat(range('0', '0'), 0), range('1', '9'), any()});
    }

    [[nodiscard]] Expression integers_below(std::string_view bound) const {
        std::vector<Expression> alternatives;
        for (std::size_t i = 0; i < bound.size(); ++i) { // equal in the first i digits, then less
            const char min = i == 0 && bound.size() > 1 ? '1' : '0';
            const auto rest = static_cast<uint32_t>(bound.size() - i - 1);
            alternatives.push_back(language_->sequence(std::array{language_->literal(bound.substr(0, i)),
                                                                  range(min, static_cast<char>(bound[i] - 1)),
                                                                  language_->repeat(digit_, rest, rest)}));
        }
        if (bound.size() > 1) { // fewer digits
            const auto max = static_cast<uint32_t>(bound.size() - 2);
            alternatives.push_back(range('0', '0'));
            alternatives.push_back(language_->sequence(range('1', '9'), language_->repeat(digit_, 0, max)));
        }
        return language_->either(alternatives);
    }

    [[nodiscard]] Expression integers_above(std::string_view bound) const {
        const auto size = static_cast<uint32_t>(bound.size());
        std::vector<Expression> alternatives = {
            language_->sequence(range('1', '9'), language_->repeat(digit_, size))};
        for (std::size_t i = 0; i < bound.size(); ++i) {
            const auto rest = static_cast<uint32_t>(bound.size() - i - 1);
            alternatives.push_back(language_->sequence(std::array{language_->literal(bound.substr(0, i)),
                                                                  range(static_cast<char>(bound[i] + 1), '9'),
                                                                  language_->repeat(digit_, rest, rest)}));
        }
        return language_->either(alternatives);
    }

    Language* language_;
    Expression digit_;
};

/// Adds the sign: `positive` contains zero if the set does; `magnitudes` are those of numbers below zero.
Expression signed_numbers(Language& language, Expression positive, Expression magnitudes) {
    return language.either(positive, language.sequence(language.literal("-"), magnitudes));
}

/// Magnitudes other than zero. Zeros with a fraction of zeros are left in: excluding them costs more than it
/// is worth.
Expression not_zero(const Digits& digits, Language& language, NumberKind kind) {
    const Expression whole = digits.with_fraction(digits.positive_integer(), kind);
    if (kind == NumberKind::integer)
        return whole;
    return language.either(whole, language.sequence(std::array{language.literal("0."), digits.some()}));
}

/// Numbers on one side of a bound.
Expression at_least(Language& language, const Bound& bound, NumberKind kind) {
    const Digits digits(language);
    if (!bound.value.is_negative)
        return digits.from(bound, kind);
    const Bound below = {bound.value.magnitude(), bound.is_excluded};
    return signed_numbers(language, digits.with_fraction(digits.integer(), kind), digits.up_to(below, kind));
}

Expression at_most(Language& language, const Bound& bound, NumberKind kind) {
    const Digits digits(language);
    if (bound.value.is_negative || (bound.value.is_zero() && bound.is_excluded)) { // "-0.0" is not below zero
        return language.sequence(language.literal("-"),
                                 digits.from({bound.value.magnitude(), bound.is_excluded}, kind));
    }
    return signed_numbers(language, digits.up_to(bound, kind), not_zero(digits, language, kind));
}

/// Maximum digits before the point of a number without an exponent: the largest double has one more.
constexpr uint32_t integer_digits_max = 308;
/// Maximum digits after the point, in addition to those of a bound.
constexpr uint32_t fraction_digits_max = 40;
/// The same if the last digits decide membership: below 1e-307 doubles preserve fewer than exact_digits.
constexpr uint32_t exact_places_max = 307;
/// Maximum digits before the point of a number with an exponent, and of the exponent.
constexpr uint32_t digits_before_exponent_max = 40;
constexpr uint32_t exponent_digits_max = 2;
/// Digits before the point of a quotient that JavaScript writes without an exponent: below 1e21. Validators
/// such as Ajv search it for a point.
constexpr int32_t quotient_digits_max = 20;

/// A set in normal form: with one divisor at most.
struct Numbers {
    NumberKind kind = NumberKind::any;
    std::optional<Bound> lower = {};
    std::optional<Bound> upper = {};
    std::optional<Decimal> divisor = {};
    uint32_t integer_digits = integer_digits_max; ///< maximum digits before the point
};

/// The digits before the point up to which all multiples of `divisor` have quotients below 1e21.
uint32_t integer_digits_of(const Decimal& divisor) {
    const auto zeros = static_cast<int32_t>(divisor.fraction.find_first_not_of('0'));
    const int32_t exponent =
        divisor.integer == "0" ? -1 - zeros : static_cast<int32_t>(divisor.integer.size()) - 1;
    return static_cast<uint32_t>(std::max(quotient_digits_max + exponent, 1));
}

/// Whether all numbers between the bounds have more than `digits` digits before the point.
bool need_more_digits(const Numbers& set, std::size_t digits) {
    return (set.lower && !set.lower->value.is_negative && set.lower->value.integer.size() > digits) ||
           (set.upper && set.upper->value.is_negative && set.upper->value.integer.size() > digits);
}

/// An excluded bound as readers with doubles see it. No other number of exact_digits digits reads the same.
Bound as_read(const Bound& bound) {
    const double value = std::strtod(text_of(bound.value).c_str(), nullptr);
    if (!bound.is_excluded || !std::isfinite(value))
        return bound;
    return {decimal(fmt::format("{}", value)).value(), true};
}

/// Errors: as common_multiple().
Result<Numbers> normalised(const NumberSet& set) {
    Numbers result = {.kind = set.kind};
    if (set.lower)
        result.lower = as_read(*set.lower);
    if (set.upper)
        result.upper = as_read(*set.upper);
    if (set.multiples_of.empty())
        return result;
    const Decimal one = {.integer = "1"};
    Decimal min = set.multiples_of.front();
    Decimal common = min;
    for (const Decimal& divisor : set.multiples_of) {
        min = compare(divisor, min) < 0 ? divisor : min;
        ETNA_TRY(common, common_multiple(common, divisor));
    }
    if (set.kind == NumberKind::integer) {
        ETNA_TRY(common, common_multiple(common, one));
    } else if (set.kind == NumberKind::any && common.is_integer()) {
        result.kind = NumberKind::integer;
    }
    const bool is_redundant = result.kind == NumberKind::integer && common == one;
    // The JSON-Schema-Test-Suite requires all integers that are doubles to be multiples of 0.5.
    const bool has_all_sizes = is_redundant && compare(min, one) < 0;
    const uint32_t digits = integer_digits_of(min);
    if (!has_all_sizes && digits < integer_digits_max && !need_more_digits(result, digits))
        result.integer_digits = digits;
    if (!is_redundant)
        result.divisor = std::move(common);
    return result;
}

/// Numbers of the integer parts `integers`, without zero, and the fractions (with their point; `nothing` for
/// none) after them or after a zero.
Expression numbers_of(Language& language, Expression integers, Expression fractions) {
    const Expression zero = language.literal("0");
    const Expression others = language.sequence(integers, language.optional(fractions));
    return signed_numbers(language,
                          language.either(language.sequence(zero, language.optional(fractions)), others),
                          language.either(others, language.sequence(zero, fractions)));
}

bool is_closed(const Numbers& set) {
    return set.lower && set.upper && set.lower->value.integer.size() <= integer_digits_max &&
           set.upper->value.integer.size() <= integer_digits_max;
}

/// Integer parts above zero of finite doubles. Two bounds that are finite doubles limit them anyway.
Expression integer_parts(Language& language, const Numbers& set) {
    const Digits digits(language);
    if (set.integer_digits == integer_digits_max && is_closed(set))
        return digits.positive_integer();
    const Expression all =
        language.sequence(digits.range('1', '9'), digits.between(0, set.integer_digits - 1));
    if (set.integer_digits < integer_digits_max)
        return all;
    const Expression zeros = language.repeat(digits.range('0', '0'), integer_digits_max, integer_digits_max);
    return language.either(all, language.sequence(language.literal("1"), zeros)); // 1e308 has one digit more
}

/// Digits after the point that distinguish the bounds from numbers close to them.
uint32_t places_of(const Numbers& set) {
    const auto places = [](const std::optional<Bound>& bound) {
        return bound ? static_cast<uint32_t>(bound->value.fraction.size()) : 0;
    };
    return fraction_digits_max + std::max(places(set.lower), places(set.upper));
}

/// Numbers in plain digits: a superset of the set. `is_exact`: doubles preserve exact_digits of them.
Expression plain_numbers(Language& language, const Numbers& set, bool is_exact) {
    const Expression integers = integer_parts(language, set);
    if (set.kind == NumberKind::integer)
        return numbers_of(language, integers, nothing);
    const Digits digits(language);
    const uint32_t places = is_exact ? std::min(places_of(set), exact_places_max) : places_of(set);
    return numbers_of(language, integers, language.sequence(digits.point(), digits.between(1, places)));
}

/// The same as an automaton. The most common ones are built once.
Result<Automaton> plain_automaton(Language& language, const Numbers& set, bool is_exact) {
    const bool is_integer = set.kind == NumberKind::integer;
    if (set.integer_digits < integer_digits_max || is_closed(set) ||
        (!is_integer && places_of(set) > fraction_digits_max))
        return language.automaton(plain_numbers(language, set, is_exact));
    const auto made = [](NumberKind kind) {
        Language own;
        return own.automaton(plain_numbers(own, {.kind = kind}, false));
    };
    static const Result<Automaton> integers = made(NumberKind::integer);
    static const Result<Automaton> numbers = made(NumberKind::any);
    return is_integer ? integers : numbers;
}

Expression numbers_with_exponent(Language& language) {
    const Digits digits(language);
    const Expression integers =
        language.sequence(digits.range('1', '9'), digits.between(0, digits_before_exponent_max - 1));
    const Expression fractions = language.sequence(digits.point(), digits.between(1, fraction_digits_max));
    const Expression exponent = language.sequence(
        std::array{language.either(language.literal("e"), language.literal("E")),
                   language.optional(language.either(language.literal("+"), language.literal("-"))),
                   digits.between(1, exponent_digits_max)});
    return language.sequence(numbers_of(language, integers, fractions), exponent);
}

/// Numbers with a non-zero digit after the point.
Expression fractions(Language& language) {
    const Digits digits(language);
    const Expression fraction = language.sequence(std::array{digits.integer(), digits.point(),
                                                             language.repeat(digits.range('0', '0'), 0),
                                                             digits.range('1', '9'), digits.any()});
    return signed_numbers(language, fraction, fraction);
}

/// Numbers of at most exact_digits significant digits, followed by zeros if `zeros_after` allows them. Built
/// once.
Result<Automaton> exact_automaton(bool zeros_after) {
    const auto made = [](bool has_zeros) {
        Language language;
        const Digits digits(language);
        const Expression zeros = language.repeat(digits.range('0', '0'), 0);
        const Expression end = has_zeros ? zeros : empty;
        Expression whole = end; // what may follow a digit if `left` more are allowed
        for (uint32_t left = 1; left < exact_digits; ++left) {
            const Expression fraction =
                language.sequence(std::array{digits.point(), digits.between(1, left), end});
            whole =
                language.either(std::array{end, fraction, language.sequence(digits.between(1, 1), whole)});
        }
        const Expression below_one =
            language.sequence(std::array{language.literal("0"), language.optional(digits.point()), zeros,
                                         digits.between(0, exact_digits), end});
        const Expression others = language.sequence(digits.range('1', '9'), whole);
        return language.automaton(
            language.sequence(language.optional(language.literal("-")), language.either(below_one, others)));
    };
    static const Result<Automaton> with_zeros = made(true);
    static const Result<Automaton> without_zeros = made(false);
    return zeros_after ? with_zeros : without_zeros;
}

/// Whether a reader with doubles, which rounds long numbers, may take a number for the excluded bound.
bool may_be_rounded_to(const std::optional<Bound>& bound, NumberKind kind) {
    return bound && bound->is_excluded &&
           (kind != NumberKind::integer || bound->value.integer.size() > exact_digits);
}

/// Whether membership in the set depends on digits that not all readers preserve.
bool depends_on_last_digits(const Numbers& set) {
    return set.kind == NumberKind::fraction || set.divisor || may_be_rounded_to(set.lower, set.kind) ||
           may_be_rounded_to(set.upper, set.kind);
}

/// The set for errors: "multiples of 5 from 1 up to 5".
std::string description_of(const Numbers& set) {
    return fmt::format("{}{}{}{}", set.divisor ? "multiples of " : "numbers",
                       set.divisor ? short_text(*set.divisor) : "",
                       set.lower ? fmt::format(" from {}", short_text(set.lower->value)) : "",
                       set.upper ? fmt::format(" up to {}", short_text(set.upper->value)) : "");
}

/// The set in plain digits. `is_exact`: without numbers of more digits than all readers preserve.
Result<Automaton> in_plain_digits(Language& language, const Numbers& set, bool is_exact) {
    const NumberKind kind = set.kind == NumberKind::integer ? NumberKind::integer : NumberKind::any;
    ETNA_TRY(Automaton result, plain_automaton(language, set, is_exact));
    if (is_exact) {
        // Zeros that doubles do not preserve could make a multiple another number.
        ETNA_TRY(const Automaton exact, exact_automaton(!set.divisor));
        ETNA_TRY(result, language.both(result, exact));
    }
    const auto restrict_to = [&](Expression others) -> Status {
        ETNA_TRY(const Automaton automaton, language.automaton(others));
        ETNA_TRY(result, language.both(result, automaton));
        return {};
    };
    if (set.kind == NumberKind::fraction) {
        ETNA_CHECK(restrict_to(fractions(language)));
    }
    if (set.lower) {
        ETNA_CHECK(restrict_to(at_least(language, *set.lower, kind)));
    }
    if (set.upper) {
        ETNA_CHECK(restrict_to(at_most(language, *set.upper, kind)));
    }
    if (!set.divisor)
        return result;
    ETNA_TRY(const Automaton all, multiples(*set.divisor));
    auto both = language.both(result, all);
    if (both || language.is_spent())
        return both;
    return Error{ErrorKind::unsupported,
                 fmt::format("{} need more than {} states", description_of(set), automaton_states_max),
                 "choose a smaller divisor, or bounds with fewer digits"};
}

/// Numbers that need an automaton. Errors: unsupported also if the set contains only numbers with more digits
/// than all readers preserve.
Result<Expression> restricted_numbers(Language& language, const Numbers& set) {
    const bool is_exact = depends_on_last_digits(set);
    ETNA_TRY(const Automaton result, in_plain_digits(language, set, is_exact));
    ETNA_CHECK(language.check());
    // Doubles do not distinguish large fractions from integers.
    const bool may_be_cut = is_exact && (set.divisor || !need_more_digits(set, exact_digits));
    if (may_be_cut && result.state_count() == 0) {
        const auto all = in_plain_digits(language, set, false);
        ETNA_CHECK(language.check());
        if (!all || all->state_count() > 0) {
            return Error{
                ErrorKind::unsupported,
                fmt::format("{} need more precision than the {} digits that readers of JSON preserve",
                            description_of(set), exact_digits),
                "choose bounds with fewer digits, or a larger range"};
        }
    }
    return language.accepted(result);
}

Error too_large(std::size_t digits) {
    return {ErrorKind::unsupported,
            fmt::format("a number of {} digits before its point is too large for readers of JSON", digits),
            "choose one below 1e308"};
}

/// The only number between two equal bounds, if it is of the kind. Errors: unsupported (not a finite double).
Result<Expression> only_number(Language& language, const NumberSet& set) {
    const Decimal& value = set.lower->value;
    const bool is_of_kind =
        set.kind == NumberKind::any || value.is_integer() == (set.kind == NumberKind::integer);
    if (!is_of_kind || set.lower->is_excluded || set.upper->is_excluded)
        return nothing;
    const std::string text = text_of(value);
    if (!std::isfinite(std::strtod(text.c_str(), nullptr)))
        return too_large(value.integer.size());
    return language.literal(text);
}

} // namespace

Result<Expression> json_number(Language& language, const NumberSet& set) {
    if (set.multiples_of.empty() && set.lower && set.upper && set.lower->value == set.upper->value)
        return only_number(language, set);
    ETNA_TRY(const Numbers numbers, normalised(set));
    if (set.kind == NumberKind::fraction && numbers.divisor && numbers.divisor->is_integer())
        return nothing;
    if (need_more_digits(numbers, integer_digits_max))
        return too_large(integer_digits_max + 1);
    const bool is_restricted =
        numbers.kind == NumberKind::fraction || numbers.lower || numbers.upper || numbers.divisor;
    if (!is_restricted) {
        const Expression plain = plain_numbers(language, numbers, false);
        if (numbers.kind == NumberKind::any)
            return language.unit(language.either(plain, numbers_with_exponent(language)));
        if (set.kind == NumberKind::integer)
            return language.unit(plain);
    }
    ETNA_TRY(const Expression all, restricted_numbers(language, numbers));
    if (set.kind == numbers.kind || all == nothing)
        return all;
    const Digits digits(language);
    const Expression zeros = language.repeat(digits.range('0', '0'), 1, fraction_digits_max);
    return language.sequence(all, language.optional(language.sequence(digits.point(), zeros)));
}

} // namespace etna::grammar
