#include "core/grammar/json_numbers.hpp"

#include "core/grammar/multiples.hpp"

#include <algorithm>
#include <array>
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

    [[nodiscard]] Expression so_many(uint32_t least, uint32_t most) const {
        return language_->repeat(digit_, least, most);
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
        std::vector<Expression> ways;
        if (contains_end(digits))
            ways.push_back(empty);
        if (kind == NumberKind::any) { // a point must be followed by a digit
            const Expression behind =
                language_->sequence(point(), without_end(fraction, bound.is_excluded, side));
            ways.push_back(behind);
        }
        return language_->sequence(language_->literal(bound.value.integer), language_->either(ways));
    }

    [[nodiscard]] bool contains_end(Expression digits) const { return language_->is_nullable(digits); }

    /// The same, with at least one digit.
    [[nodiscard]] Expression without_end(std::string_view fraction, bool is_excluded,
                                         FractionSide side) const {
        const std::string_view rest = fraction.substr(std::min<std::size_t>(1, fraction.size()));
        const char first = fraction.empty() ? '0' : fraction.front();
        std::vector<Expression> ways = {
            language_->sequence(range(first, first), (this->*side)(rest, is_excluded))};
        if (side == &Digits::fraction_up_to) {
            ways.push_back(language_->sequence(range('0', static_cast<char>(first - 1)), any()));
        } else {
            ways.push_back(language_->sequence(range(static_cast<char>(first + 1), '9'), any()));
        }
        return language_->either(ways);
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
        std::vector<Expression> ways;
        for (std::size_t i = 0; i < bound.size(); ++i) { // equal in the first i digits, then less
            const char least = i == 0 && bound.size() > 1 ? '1' : '0';
            const auto rest = static_cast<uint32_t>(bound.size() - i - 1);
            ways.push_back(language_->sequence(std::array{language_->literal(bound.substr(0, i)),
                                                          range(least, static_cast<char>(bound[i] - 1)),
                                                          language_->repeat(digit_, rest, rest)}));
        }
        if (bound.size() > 1) { // fewer digits
            const auto most = static_cast<uint32_t>(bound.size() - 2);
            ways.push_back(range('0', '0'));
            ways.push_back(language_->sequence(range('1', '9'), language_->repeat(digit_, 0, most)));
        }
        return language_->either(ways);
    }

    [[nodiscard]] Expression integers_above(std::string_view bound) const {
        const auto size = static_cast<uint32_t>(bound.size());
        std::vector<Expression> ways = {
            language_->sequence(range('1', '9'), language_->repeat(digit_, size))};
        for (std::size_t i = 0; i < bound.size(); ++i) {
            const auto rest = static_cast<uint32_t>(bound.size() - i - 1);
            ways.push_back(language_->sequence(std::array{language_->literal(bound.substr(0, i)),
                                                          range(static_cast<char>(bound[i] + 1), '9'),
                                                          language_->repeat(digit_, rest, rest)}));
        }
        return language_->either(ways);
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

Result<Automaton> intersected(Language& language, const Automaton& a, Expression b) {
    ETNA_TRY(const Automaton other, language.automaton(b));
    return language.both(a, other);
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

/// Maximum digits after the point, in addition to those of a bound.
constexpr uint32_t fraction_digits_max = 40;
/// The same if the last digits decide membership: below 1e-307 doubles preserve fewer than exact_digits.
constexpr uint32_t exact_places_max = 307;
/// Maximum digits before the point of a number with an exponent, and of the exponent.
constexpr uint32_t digits_before_exponent_max = 40;
constexpr uint32_t exponent_digits_max = 2;

/// Numbers of the integer parts `wholes`, without zero, and the fractions (with their point; `nothing` for
/// none) after them or after a zero.
Expression numbers_of(Language& language, Expression wholes, Expression fractions) {
    const Expression zero = language.literal("0");
    const Expression others = language.sequence(wholes, language.optional(fractions));
    return signed_numbers(language,
                          language.either(language.sequence(zero, language.optional(fractions)), others),
                          language.either(others, language.sequence(zero, fractions)));
}

/// Integer parts above zero of finite doubles. Between two bounds that are finite doubles they need no limit
/// of their own.
Expression wholes_of(Language& language, const NumberSet& set) {
    const Digits digits(language);
    if (set.whole_digits)
        return language.sequence(digits.range('1', '9'), digits.so_many(0, *set.whole_digits - 1));
    if (is_finite(set.least) && is_finite(set.most))
        return digits.positive_integer();
    const Expression zeros = language.repeat(digits.range('0', '0'), whole_digits_max, whole_digits_max);
    return language.either(language.sequence(digits.range('1', '9'), digits.so_many(0, whole_digits_max - 1)),
                           language.sequence(language.literal("1"), zeros)); // 1e308 has one digit more
}

/// Digits after the point that distinguish the bounds from numbers close to them.
uint32_t places_of(const NumberSet& set) {
    const auto places = [](const std::optional<Bound>& bound) {
        return bound ? static_cast<uint32_t>(bound->value.fraction.size()) : 0;
    };
    return fraction_digits_max + std::max(places(set.least), places(set.most));
}

/// Numbers in plain digits: a superset of the set. `is_exact`: doubles preserve exact_digits of them.
Expression plain_numbers(Language& language, const NumberSet& set, bool is_exact) {
    const Expression wholes = wholes_of(language, set);
    if (set.kind == NumberKind::integer)
        return numbers_of(language, wholes, nothing);
    const Digits digits(language);
    const uint32_t most = is_exact ? std::min(places_of(set), exact_places_max) : places_of(set);
    return numbers_of(language, wholes, language.sequence(digits.point(), digits.so_many(1, most)));
}

/// The same as an automaton. The most common ones are built once.
Result<Automaton> plain_automaton(Language& language, const NumberSet& set, bool is_exact) {
    const auto has_places = [](const std::optional<Bound>& bound) {
        return bound && !bound->value.is_integer();
    };
    const bool is_integer = set.kind == NumberKind::integer;
    if (set.whole_digits || (is_finite(set.least) && is_finite(set.most)) ||
        (!is_integer && (has_places(set.least) || has_places(set.most))))
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
    const Expression wholes =
        language.sequence(digits.range('1', '9'), digits.so_many(0, digits_before_exponent_max - 1));
    const Expression fractions = language.sequence(digits.point(), digits.so_many(1, fraction_digits_max));
    const Expression exponent = language.sequence(
        std::array{language.either(language.literal("e"), language.literal("E")),
                   language.optional(language.either(language.literal("+"), language.literal("-"))),
                   digits.so_many(1, exponent_digits_max)});
    return language.sequence(numbers_of(language, wholes, fractions), exponent);
}

/// Numbers with a non-zero digit after the point.
Expression fractions(Language& language) {
    const Digits digits(language);
    const Expression fraction = language.sequence(std::array{digits.integer(), digits.point(),
                                                             language.repeat(digits.range('0', '0'), 0),
                                                             digits.range('1', '9'), digits.any()});
    return signed_numbers(language, fraction, fraction);
}

/// Numbers of at most exact_digits significant digits; zeros may follow if requested.
Expression exact_numbers(Language& language, bool may_have_zeros_behind) {
    const Digits digits(language);
    const Expression zeros = language.repeat(digits.range('0', '0'), 0);
    const Expression zeros_behind = may_have_zeros_behind ? zeros : empty;
    Expression whole = zeros_behind; // what may follow a digit if `left` more are allowed
    for (uint32_t left = 1; left < exact_digits; ++left) {
        const Expression fraction =
            language.sequence(std::array{digits.point(), digits.so_many(1, left), zeros_behind});
        whole = language.either(
            std::array{zeros_behind, fraction, language.sequence(digits.so_many(1, 1), whole)});
    }
    const Expression below_one =
        language.sequence(std::array{language.literal("0"), language.optional(digits.point()), zeros,
                                     digits.so_many(0, exact_digits), zeros_behind});
    return language.sequence(language.optional(language.literal("-")),
                             language.either(below_one, language.sequence(digits.range('1', '9'), whole)));
}

/// The same as an automaton, built once.
Result<Automaton> exact_automaton(bool may_have_zeros_behind) {
    const auto made = [](bool may_have_zeros) {
        Language own;
        return own.automaton(exact_numbers(own, may_have_zeros));
    };
    static const Result<Automaton> with_zeros = made(true);
    static const Result<Automaton> without_zeros = made(false);
    return may_have_zeros_behind ? with_zeros : without_zeros;
}

/// The only number between two equal bounds, if it is of the kind. Errors: unsupported (not a finite double).
Result<Expression> only_number(Language& language, const NumberSet& set) {
    const Decimal& value = set.least->value;
    const bool is_of_kind =
        set.kind == NumberKind::any || value.is_integer() == (set.kind == NumberKind::integer);
    if (!is_of_kind || set.least->is_excluded || set.most->is_excluded)
        return nothing;
    if (!is_finite(set.least)) {
        return Error{ErrorKind::unsupported,
                     fmt::format("a number of {} digits before its point is too large for readers of JSON",
                                 value.integer.size()),
                     "choose one of at most 1.7976931348623157e308"};
    }
    return language.literal(text_of(value));
}

/// Whether a reader with doubles, which rounds long numbers, may take a number for one on the other side of
/// the bound. Rounding preserves the order of two numbers, but may make them equal.
bool may_be_rounded_over(const std::optional<Bound>& bound, NumberKind kind) {
    if (!bound || !bound->is_excluded)
        return false;
    return kind != NumberKind::integer || bound->value.integer.size() > exact_digits ||
           rounded(bound->value, exact_digits) != bound->value;
}

/// Whether membership in the set depends on digits that not all readers preserve.
bool hangs_on_last_digits(const NumberSet& set) {
    return set.kind == NumberKind::fraction || !set.multiples_of.empty() || !set.no_multiples_of.empty() ||
           may_be_rounded_over(set.least, set.kind) || may_be_rounded_over(set.most, set.kind);
}

/// The bound for numbers of exact_digits digits: no other number of that length reads as the bound does.
Bound exact_bound(const Bound& bound) {
    return bound.is_excluded ? Bound{rounded(bound.value, exact_digits), true} : bound;
}

/// Whether doubles preserve the bound, but multiples with at most `digits` digits do not reach it.
bool is_beyond(const std::optional<Bound>& bound, uint32_t digits) {
    const std::size_t needed = bound ? bound->value.integer.size() : 0;
    return needed > digits && needed <= exact_digits;
}

/// For errors: " from 1 up to 5", or the part that is bounded.
std::string bounds_of(const NumberSet& set) {
    if (!set.most)
        return set.least ? fmt::format(" from {} on", shown(set.least->value)) : "";
    const std::string up_to = fmt::format(" up to {}", shown(set.most->value));
    return set.least ? fmt::format(" from {}{}", shown(set.least->value), up_to) : up_to;
}

Error out_of_reach(const NumberSet& set, uint32_t digits) {
    return {ErrorKind::unsupported,
            fmt::format("multiples of {}{} have more than {} digits: too many to be told from other numbers",
                        shown(set.multiples_of.front()), bounds_of(set), digits),
            digits == exact_digits
                ? fmt::format("choose bounds of at most {} digits", digits)
                : fmt::format("choose bounds of at most {} digits, or a divisor with fewer "
                              "digits before its last zeros",
                              digits)};
}

Error too_near_to_zero(const NumberSet& set) {
    return {ErrorKind::unsupported,
            fmt::format("numbers{} are too near to zero to be told apart by readers of JSON", bounds_of(set)),
            fmt::format("choose bounds that leave zero, or numbers beyond 1e-{}", exact_places_max)};
}

/// The error for too many states, unless memory or step budget ran out.
Error too_many_states(const Language& language, const Error& error, std::string what, const NumberSet& set) {
    if (language.is_spent())
        return error;
    return {ErrorKind::unsupported,
            fmt::format("{}{} take more than {} states", what, bounds_of(set), automaton_states_max),
            "choose a smaller divisor, or give bounds of fewer digits"};
}

Result<Automaton> without_multiples(Language& language, Automaton result, const NumberSet& set) {
    for (const Decimal& divisor : set.no_multiples_of) {
        ETNA_TRY(const Automaton refused, multiples(language, divisor));
        const auto allowed = language.all_but(refused);
        auto left = allowed ? language.both(result, *allowed) : allowed;
        if (!left) {
            return too_many_states(language, left.error(),
                                   fmt::format("numbers that are no multiples of {}", shown(divisor)), set);
        }
        result = std::move(*left);
    }
    return result;
}

/// Numbers in plain digits, within bounds. `is_exact`: with no more digits than all readers preserve.
Result<Automaton> bounded(Language& language, const NumberSet& set, bool is_exact) {
    const NumberKind kind = set.kind == NumberKind::integer ? NumberKind::integer : NumberKind::any;
    ETNA_TRY(Automaton result, plain_automaton(language, set, is_exact));
    if (is_exact) {
        // Trailing zeros would add states for each remainder other than zero.
        ETNA_TRY(const Automaton exact, exact_automaton(set.no_multiples_of.empty()));
        ETNA_TRY(result, language.both(result, exact));
    }
    if (set.kind == NumberKind::fraction) {
        ETNA_TRY(result, intersected(language, result, fractions(language)));
    }
    const auto side = [&](const Bound& bound) { return is_exact ? exact_bound(bound) : bound; };
    if (set.least) {
        ETNA_TRY(result, intersected(language, result, at_least(language, side(*set.least), kind)));
    }
    if (set.most) {
        ETNA_TRY(result, intersected(language, result, at_most(language, side(*set.most), kind)));
    }
    return result;
}

/// Multiples of the divisor within bounds, with as many digits as leave room for the bounds.
Result<ExactMultiples> bounded_multiples(Language& language, const NumberSet& set) {
    ETNA_TRY(const Automaton numbers, bounded(language, set, true));
    for (uint32_t digits = exact_digits;;) {
        ETNA_TRY(const ExactMultiples found, exact_multiples(language, set.multiples_of.front(), digits));
        if (is_beyond(set.least, found.digits) || is_beyond(set.most, found.digits))
            return out_of_reach(set, found.digits);
        auto both = language.both(numbers, found.automaton);
        if (both)
            return ExactMultiples{.automaton = std::move(*both), .digits = found.digits};
        ETNA_CHECK(language.check());
        if (found.digits == 1)
            return out_of_reach(set, found.digits);
        digits = found.digits - 1;
    }
}

/// Multiples within bounds, of any number of digits.
Result<Automaton> all_multiples_in(Language& language, const NumberSet& set) {
    ETNA_TRY(Automaton result, bounded(language, set, false));
    for (const Decimal& divisor : set.multiples_of) {
        ETNA_TRY(const Automaton its, multiples(language, divisor));
        ETNA_TRY(result, language.both(result, its));
    }
    return without_multiples(language, std::move(result), set);
}

/// The multiples of the divisors that all readers find in the set. Errors: unsupported also if there are
/// none, but others exist or may exist.
Result<Automaton> exact_multiples_in(Language& language, const NumberSet& set) {
    ETNA_TRY(ExactMultiples found, bounded_multiples(language, set));
    ETNA_TRY(Automaton result, without_multiples(language, std::move(found.automaton), set));
    if (result.state_count() > 0)
        return result;
    const auto others = all_multiples_in(language, set);
    ETNA_CHECK(language.check());
    if (!others || others->state_count() > 0)
        return out_of_reach(set, found.digits);
    return result;
}

Result<Automaton> in_plain_digits(Language& language, const NumberSet& set) {
    if (!set.multiples_of.empty())
        return exact_multiples_in(language, set);
    const bool is_exact = hangs_on_last_digits(set);
    ETNA_TRY(Automaton result, bounded(language, set, is_exact));
    ETNA_TRY(result, without_multiples(language, std::move(result), set));
    const bool is_cut = is_exact && set.kind != NumberKind::integer && places_of(set) > exact_places_max;
    if (is_cut && result.state_count() == 0)
        return too_near_to_zero(set);
    return result;
}

/// Precondition: the set comes from simplified().
Result<Expression> simple_number(Language& language, const NumberSet& set) {
    if (set.kind == NumberKind::fraction && !set.multiples_of.empty() &&
        set.multiples_of.front().is_integer())
        return nothing;
    const bool has_divisors = !set.multiples_of.empty() || !set.no_multiples_of.empty();
    if (!has_divisors && set.least && set.most && set.least->value == set.most->value)
        return only_number(language, set);
    if (!set.least && !set.most && !has_divisors && set.kind != NumberKind::fraction) {
        const Expression plain = plain_numbers(language, set, false);
        return language.unit(
            set.kind == NumberKind::any ? language.either(plain, numbers_with_exponent(language)) : plain);
    }
    ETNA_TRY(const Automaton result, in_plain_digits(language, set));
    return language.accepted(result);
}

} // namespace

Result<Expression> json_number(Language& language, const NumberSet& set) {
    ETNA_TRY(const NumberSet simple, simplified(set));
    ETNA_TRY(const Expression numbers, simple_number(language, simple));
    if (set.kind == simple.kind || numbers == nothing)
        return numbers;
    const Digits digits(language);
    const Expression zeros = language.repeat(digits.range('0', '0'), 1, fraction_digits_max);
    return language.sequence(numbers, language.optional(language.sequence(digits.point(), zeros)));
}

} // namespace etna::grammar
