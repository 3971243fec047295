#include "core/grammar/json_numbers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Sets of digits, and of numbers without sign; exponents do not occur.
class Digits {
public:
    explicit Digits(Language& language) : language_(&language), digit_(range('0', '9')) {}

    [[nodiscard]] Expression any() const { return language_->repeat(digit_, 0); }
    [[nodiscard]] Expression some() const { return language_->repeat(digit_, 1); }

    /// Without zeros in front.
    [[nodiscard]] Expression integer() const {
        return language_->either(range('0', '0'), positive_integer());
    }
    [[nodiscard]] Expression positive_integer() const { return language_->sequence(range('1', '9'), any()); }

    /// Integers of the kind, or those with a fraction as well.
    [[nodiscard]] Expression with_fraction(Expression integers, NumberKind kind) const {
        if (kind == NumberKind::integer)
            return integers;
        return language_->sequence(integers, language_->optional(language_->sequence(point(), some())));
    }

    /// Numbers of at most `bound`, or less.
    [[nodiscard]] Expression up_to(const Bound& bound, NumberKind kind) const {
        const Expression same = equal_integer(bound, kind, &Digits::fraction_up_to);
        return language_->either(with_fraction(integers_below(bound.value.integer), kind), same);
    }

    /// Numbers of at least `bound`, or more.
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

    /// Numbers whose integer part is the bound's: their fraction decides.
    [[nodiscard]] Expression equal_integer(const Bound& bound, NumberKind kind, FractionSide side) const {
        const std::string_view fraction = bound.value.fraction;
        const Expression digits = (this->*side)(fraction, bound.is_excluded);
        std::vector<Expression> ways;
        if (contains_end(digits))
            ways.push_back(empty);
        if (kind == NumberKind::any) { // a point has to be followed by a digit
            const Expression behind =
                language_->sequence(point(), without_end(fraction, bound.is_excluded, side));
            ways.push_back(behind);
        }
        return language_->sequence(language_->literal(bound.value.integer), language_->either(ways));
    }

    [[nodiscard]] bool contains_end(Expression digits) const { return language_->is_nullable(digits); }

    /// The same, with one digit at least.
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

    /// Digits that are, behind a point, at most `fraction`.
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

/// With a sign where it belongs: `positive` has zero in it where `zero` is wanted, `magnitudes` are of
/// numbers below zero.
Expression signed_numbers(Language& language, Expression positive, Expression magnitudes) {
    return language.either(positive, language.sequence(language.literal("-"), magnitudes));
}

/// Magnitudes that are not zero. Those with a fraction of zeros alone are left in: they cost more than they
/// are worth.
Expression not_zero(const Digits& digits, Language& language, NumberKind kind) {
    const Expression whole = digits.with_fraction(digits.positive_integer(), kind);
    if (kind == NumberKind::integer)
        return whole;
    return language.either(whole, language.sequence(std::array{language.literal("0."), digits.some()}));
}

Result<Automaton> intersected(Language& language, const Automaton& a, Expression b) {
    ETNA_TRY(const Automaton other, language.automaton(b));
    return intersection(a, other);
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
    if (bound.value.is_negative)
        return language.sequence(language.literal("-"),
                                 digits.from({bound.value.magnitude(), bound.is_excluded}, kind));
    return signed_numbers(language, digits.up_to(bound, kind), not_zero(digits, language, kind));
}

uint32_t power_of_ten(std::size_t exponent, uint32_t modulus) {
    uint64_t power = 1 % modulus;
    for (; exponent > 0; --exponent)
        power = power * 10 % modulus;
    return static_cast<uint32_t>(power);
}

/// Counts in units of the divisor's last place: `places` digits behind the point are a part of the number,
/// zeros may follow. A state is how many of them have come, and what is left of the digits so far when the
/// divisor is taken away as often as it goes.
Result<Automaton> multiples(const Decimal& divisor) {
    const std::size_t places = divisor.fraction.size();
    const std::string all = divisor.integer + divisor.fraction;
    const Error too_large{ErrorKind::unsupported, "the divisor has too many digits", "round it"};
    if (all.size() > 9)
        return too_large;
    const auto modulus = static_cast<uint32_t>(std::stoul(all));
    if (uint64_t{modulus} * (places + 2) > divisor_states_max)
        return too_large;
    enum Class : uint8_t { other, minus, point, first_digit };
    Automaton raw;
    raw.class_of['-'] = minus;
    raw.class_of['.'] = point;
    for (uint8_t digit = 0; digit < 10; ++digit)
        raw.class_of[static_cast<uint8_t>('0' + digit)] = first_digit + digit;
    raw.class_count = first_digit + 10;
    // State 0 is the beginning; then, for each count of places and "no point yet" before them, one for each
    // rest.
    const auto state_of = [&](std::size_t row, uint32_t rest) {
        return static_cast<uint32_t>(1 + row * modulus + rest);
    };
    const std::size_t rows = places + 2; // row 0: before the point; row 1 + p: p digits behind it
    raw.targets.assign(std::size_t{raw.class_count} * (1 + rows * modulus), Automaton::dead);
    raw.accepts.assign(1 + rows * modulus, false);
    const auto target = [&](uint32_t state, uint8_t c) -> uint32_t& {
        return raw.targets[std::size_t{state} * raw.class_count + c];
    };
    target(0, minus) = 0; // the sets that this is joined with have one sign at most
    for (uint8_t digit = 0; digit < 10; ++digit)
        target(0, first_digit + digit) = state_of(0, digit % modulus);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t missing = row == 0 ? places : places - (row - 1);
        for (uint32_t rest = 0; rest < modulus; ++rest) {
            const uint32_t state = state_of(row, rest);
            raw.accepts[state] = uint64_t{rest} * power_of_ten(missing, modulus) % modulus == 0;
            if (row == 0)
                target(state, point) = state_of(1, rest);
            for (uint8_t digit = 0; digit < 10; ++digit) {
                const auto next = static_cast<uint32_t>((uint64_t{rest} * 10 + digit) % modulus);
                if (row == 0) {
                    target(state, first_digit + digit) = state_of(0, next);
                } else if (missing > 0) {
                    target(state, first_digit + digit) = state_of(row + 1, next);
                } else if (digit == 0) {
                    target(state, first_digit) = state; // zeros behind the last place
                }
            }
        }
    }
    return minimised(raw);
}

/// Every JSON number but "-0".
Expression any_number(Language& language) {
    const Digits digits(language);
    const Expression exponent = language.sequence(std::array{
        language.either(language.literal("e"), language.literal("E")),
        language.optional(language.either(language.literal("+"), language.literal("-"))), digits.some()});
    const Expression numbers =
        signed_numbers(language, digits.with_fraction(digits.integer(), NumberKind::any),
                       not_zero(digits, language, NumberKind::any));
    return language.sequence(numbers, language.optional(exponent));
}

/// Numbers with another digit than zero behind the point.
Expression fractions(Language& language) {
    const Digits digits(language);
    const Expression fraction = language.sequence(std::array{digits.integer(), digits.point(),
                                                             language.repeat(digits.range('0', '0'), 0),
                                                             digits.range('1', '9'), digits.any()});
    return signed_numbers(language, fraction, fraction);
}

/// The one number between two equal bounds, if it is of the kind.
Expression only_number(Language& language, const NumberSet& set) {
    const Decimal& value = set.least->value;
    const bool is_of_kind =
        set.kind == NumberKind::any || value.is_integer() == (set.kind == NumberKind::integer);
    if (!is_of_kind || set.least->is_excluded || set.most->is_excluded)
        return nothing;
    return language.literal(fmt::format("{}{}{}{}", value.is_negative ? "-" : "", value.integer,
                                        value.is_integer() ? "" : ".", value.fraction));
}

} // namespace

Result<Expression> json_number(Language& language, const NumberSet& set) {
    const Digits digits(language);
    const bool has_divisors = !set.multiples_of.empty() || !set.no_multiples_of.empty();
    if (!has_divisors && set.least && set.most && set.least->value == set.most->value)
        return only_number(language, set);
    const bool is_free = !set.least && !set.most && !has_divisors;
    if (is_free && set.kind == NumberKind::any)
        return language.unit(any_number(language));
    const NumberKind kind = set.kind == NumberKind::integer ? NumberKind::integer : NumberKind::any;
    const Expression all = set.kind == NumberKind::fraction
                               ? fractions(language)
                               : signed_numbers(language, digits.with_fraction(digits.integer(), kind),
                                                not_zero(digits, language, kind));
    if (is_free)
        return language.unit(all);
    ETNA_TRY(Automaton result, language.automaton(all));
    if (set.least) {
        ETNA_TRY(result, intersected(language, result, at_least(language, *set.least, kind)));
    }
    if (set.most) {
        ETNA_TRY(result, intersected(language, result, at_most(language, *set.most, kind)));
    }
    for (const Decimal& divisor : set.multiples_of) {
        ETNA_TRY(const Automaton allowed, multiples(divisor));
        ETNA_TRY(result, intersection(result, allowed));
    }
    for (const Decimal& divisor : set.no_multiples_of) {
        ETNA_TRY(const Automaton refused, multiples(divisor));
        ETNA_TRY(const Automaton allowed, complement(refused));
        ETNA_TRY(result, intersection(result, allowed));
    }
    return language.accepted(result);
}

} // namespace etna::grammar
