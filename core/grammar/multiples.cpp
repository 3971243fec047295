#include "core/grammar/multiples.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Cost of computing a target and of visiting it in minimised(); see Language::allow_steps().
constexpr uint64_t steps_of_target = 5;

/// Maximum states of exact multiples, which leaves room for bounds.
constexpr uint32_t exact_states_max = 13'000;

/// Limit of divisors in units of their last digit: 10^exact_digits.
constexpr uint64_t modulus_end = 1'000'000'000'000'000;

/// A divisor in units of its last digit.
struct Units {
    uint64_t modulus; ///< at most exact_digits digits, so that ten times its value fits too
    uint32_t places;  ///< digits after the point that belong to the number; zeros may follow
};

Error too_large(const Decimal& divisor) {
    return {ErrorKind::unsupported, fmt::format("the divisor {} takes too many states", shown(divisor)),
            "choose a smaller one, or one with fewer digits before its last zeros"};
}

Error too_long(const Decimal& divisor) {
    return {ErrorKind::unsupported,
            fmt::format("the divisor {} has more than {} digits", shown(divisor), exact_digits),
            "readers of JSON keep no more of its multiples: choose a shorter one"};
}

Result<Units> units_of(const Decimal& divisor) {
    const std::string all = divisor.integer + divisor.fraction;
    if (all.size() > exact_digits)
        return too_long(divisor);
    return Units{std::stoull(all), static_cast<uint32_t>(divisor.fraction.size())};
}

/// Builds the automaton of a divisor's multiples with few states beyond the minimum: states from which the
/// same digits lead to multiples are merged. Such states agree in the shortest such digits, including leading
/// zeros: what follows them is a multiple again. Source: Alexeev, Minimal DFA for testing divisibility
/// (2004).
///
/// The rest is the digits so far, with zeros in all missing places, modulo the divisor.
class Remainders {
public:
    explicit Remainders(Units units) : units_(units) {
        uint64_t power = 1 % units.modulus;
        uint64_t ends = 1;
        for (uint32_t place = 0; place <= units.places; ++place) {
            powers_.push_back(power);
            ends_.push_back(ends);
            power = power * 10 % units.modulus;
            ends *= 10;
        }
        raw_.class_of['-'] = minus;
        raw_.class_of['.'] = point;
        for (uint8_t digit = 0; digit < 10; ++digit)
            raw_.class_of[static_cast<uint8_t>('0' + digit)] = first_digit + digit;
        raw_.class_count = first_digit + 10;
    }

    /// Approximate steps that automaton() took.
    [[nodiscard]] uint64_t steps() const { return steps_ + steps_of_target * raw_.targets.size(); }

    /// Empty if it takes more than divisor_states_max states.
    std::optional<Automaton> automaton() {
        add_row(false);
        target(0, minus) = 0; // the sets that this is intersected with have at most one sign
        for (uint8_t digit = 0; digit < 10; ++digit)
            target(0, first_digit + digit) = number(behind_whole({.missing = units_.places}, digit));
        for (std::size_t at = 0; at < states_.size(); ++at) {
            if (states_.size() > divisor_states_max)
                return std::nullopt;
            const State state = states_[at];
            add_row(state.rest == 0);
            if (state.is_whole) {
                add_whole(state);
            } else {
                add_place(state);
            }
        }
        return minimised(raw_);
    }

private:
    enum Class : uint8_t { other, minus, point, first_digit };

    struct State {
        uint32_t missing = 0; ///< missing digits after the point
        uint64_t rest = 0;
        bool is_whole = true; ///< still before the point
    };
    struct Key {
        bool is_whole;
        uint32_t digits; ///< fewest digits that lead to a multiple
        uint64_t end;    ///< those digits, as a number
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            constexpr uint64_t spread = 0x9E3779B97F4A7C15; // 2^64 divided by the golden ratio
            return ((key.end * 2 + (key.is_whole ? 1 : 0)) * spread) ^ key.digits;
        }
    };

    uint32_t& target(std::size_t state, uint8_t c) { return raw_.targets[state * raw_.class_count + c]; }

    void add_row(bool accepts) {
        raw_.accepts.push_back(accepts);
        raw_.targets.resize(raw_.targets.size() + raw_.class_count, Automaton::dead);
    }

    [[nodiscard]] State behind_whole(State state, uint8_t digit) const {
        state.rest = (state.rest * 10 + digit * powers_[units_.places]) % units_.modulus;
        return state;
    }

    void add_whole(State state) {
        const std::size_t row = raw_.accepts.size() - 1;
        for (uint8_t digit = 0; digit < 10; ++digit)
            target(row, first_digit + digit) = number(behind_whole(state, digit));
        state.is_whole = false;
        target(row, point) = number(state);
    }

    void add_place(State state) {
        const std::size_t row = raw_.accepts.size() - 1;
        if (state.missing == 0) {
            target(row, first_digit) = static_cast<uint32_t>(row); // trailing zeros
            return;
        }
        --state.missing;
        const uint64_t rest = state.rest;
        for (uint8_t digit = 0; digit < 10; ++digit) {
            state.rest = (rest + digit * powers_[state.missing]) % units_.modulus;
            target(row, first_digit + digit) = number(state);
        }
    }

    /// Empty if no digits lead to a multiple.
    std::optional<Key> key_of(const State& state) {
        uint64_t end = (units_.modulus - state.rest) % units_.modulus;
        uint32_t digits = state.missing;
        uint64_t ends = ends_[digits];
        for (; end >= ends && state.is_whole; ++digits, ++steps_) {
            ends *= 10;
            end = end * 10 % units_.modulus;
        }
        return end < ends ? std::optional(Key{state.is_whole, digits, end}) : std::nullopt;
    }

    uint32_t number(const State& state) {
        const auto key = key_of(state);
        if (!key)
            return Automaton::dead;
        const auto next = static_cast<uint32_t>(1 + states_.size()); // after the first
        const auto [place, is_new] = number_of_.try_emplace(*key, next);
        if (is_new)
            states_.push_back(state);
        return place->second;
    }

    Units units_;
    std::vector<uint64_t> powers_; ///< powers of ten modulo the divisor, by exponent
    std::vector<uint64_t> ends_;   ///< number of endings, by their number of digits
    std::vector<State> states_;    ///< all but the first
    std::unordered_map<Key, uint32_t, KeyHash> number_of_;
    Automaton raw_;
    uint64_t steps_ = 0;
};

/// Whether the divisor itself is a power of two, such as 0.25.
bool is_power_of_two(const Units& units) {
    uint64_t fives = 1;
    for (uint32_t place = 0; place < units.places; ++place)
        fives *= 5;
    return (units.modulus >> std::countr_zero(units.modulus)) == fives;
}

/// Multiples with a limited number of digits: those before the point, and all places after it if there is a
/// point. Zeros may follow multiples of powers of two, if requested: doubles round numbers with that many
/// digits, but these remain multiples.
///
/// A state is a state of the automaton of all multiples, and the number of digits so far, which is irrelevant
/// after the point. States with too few digits left for a multiple are omitted: for a divisor that is
/// divisible by neither 2 nor 5, about as many states as the divisor remain for each number of digits, except
/// near the first and the last digit.
class Counted {
public:
    Counted(const Automaton& all, const Units& units) : all_(&all), units_(units) {
        can_end_.push_back(all.accepts);
        for (uint32_t left = 1; left <= exact_digits; ++left)
            can_end_.push_back(ends_within(left));
    }

    /// Multiples with at most `digits` digits; empty if they take more than exact_states_max states.
    std::optional<Automaton> with(uint32_t digits, bool may_have_zeros_behind) {
        digits_ = digits;
        may_have_zeros_behind_ = may_have_zeros_behind;
        raw_ = {};
        raw_.class_of = all_->class_of;
        raw_.class_count = all_->class_count;
        number_of_.assign(std::size_t{rows()} * all_->state_count(), Automaton::dead);
        states_.clear();
        static_cast<void>(number(0, 0));
        for (std::size_t at = 0; at < states_.size(); ++at) {
            if (states_.size() > exact_states_max)
                return std::nullopt;
            add(states_[at]);
        }
        return minimised(raw_);
    }

    /// Targets of the last attempt.
    [[nodiscard]] std::size_t target_count() const { return raw_.targets.size(); }

private:
    struct State {
        uint32_t row;
        uint32_t in_all;
    };

    /// Row i has i digits before the point.
    [[nodiscard]] uint32_t zeros_row() const { return digits_ + 1; } ///< uncounted zeros
    [[nodiscard]] uint32_t point_row() const { return digits_ + 2; } ///< after the point
    [[nodiscard]] uint32_t rows() const { return digits_ + 3; }

    [[nodiscard]] uint32_t after(uint32_t state, char byte) const {
        return all_->next(state, static_cast<uint8_t>(byte));
    }

    /// Whether each state of the automaton leads to a multiple within `left` digits.
    [[nodiscard]] std::vector<bool> ends_within(uint32_t left) const {
        std::vector<bool> ends = can_end_.back();
        for (uint32_t state = 0; state < all_->state_count(); ++state) {
            if (left >= units_.places && after(state, '.') != Automaton::dead)
                ends[state] = true;
            for (char digit = '0'; digit <= '9' && !ends[state]; ++digit) {
                const uint32_t target = after(state, digit);
                ends[state] = target != Automaton::dead && can_end_.back()[target];
            }
        }
        return ends;
    }

    /// The row after `byte`; empty if the byte is not allowed.
    [[nodiscard]] std::optional<uint32_t> row_behind(uint32_t row, uint8_t byte) const {
        if (byte == '.' && row + units_.places <= digits_)
            return point_row();
        if (byte == '-' || row == point_row())
            return row;
        if (row < digits_ && byte != '.')
            return row + 1;
        if (byte == '0' && row != point_row() && may_have_zeros_behind_)
            return zeros_row();
        return std::nullopt;
    }

    void add(State state) {
        raw_.accepts.push_back(all_->accepts[state.in_all]);
        const std::size_t first = raw_.targets.size();
        raw_.targets.resize(first + raw_.class_count, Automaton::dead);
        for (const char byte : std::string_view("-.0123456789")) {
            const auto code = static_cast<uint8_t>(byte);
            const uint32_t target = all_->next(state.in_all, code);
            const auto row = row_behind(state.row, code);
            if (target != Automaton::dead && row && is_live(*row, target))
                raw_.targets[first + raw_.class_of[code]] = number(*row, target);
        }
    }

    [[nodiscard]] bool is_live(uint32_t row, uint32_t state) const {
        return row > digits_ || may_have_zeros_behind_ || can_end_[digits_ - row][state];
    }

    uint32_t number(uint32_t row, uint32_t state) {
        uint32_t& known = number_of_[std::size_t{row} * all_->state_count() + state];
        if (known == Automaton::dead) {
            known = static_cast<uint32_t>(states_.size());
            states_.push_back({row, state});
        }
        return known;
    }

    const Automaton* all_;
    Units units_;
    std::vector<std::vector<bool>> can_end_; ///< [digits left][state]
    uint32_t digits_ = 0;
    bool may_have_zeros_behind_ = false;
    Automaton raw_;
    std::vector<uint32_t> number_of_; ///< [row][state of all_]
    std::vector<State> states_;       ///< by number
};

Result<Automaton> multiples_of(Language& language, const Decimal& divisor, const Units& units) {
    Remainders remainders(units);
    auto made = remainders.automaton();
    language.take_steps(remainders.steps());
    ETNA_CHECK(language.check());
    if (!made)
        return too_large(divisor);
    return std::move(*made);
}

} // namespace

Result<Decimal> common_multiple(const Decimal& a, const Decimal& b) {
    ETNA_TRY(Units one, units_of(a));
    ETNA_TRY(Units other, units_of(b));
    const uint32_t places = std::max(one.places, other.places);
    const Error too_long_together{ErrorKind::unsupported,
                                  fmt::format("the least multiple of both {} and {} has more than {} digits",
                                              shown(a), shown(b), exact_digits),
                                  "choose divisors with more factors in common"};
    for (Units* const units : {&one, &other}) {
        for (; units->places < places; ++units->places) {
            if (units->modulus >= modulus_end / 10)
                return too_long_together;
            units->modulus *= 10;
        }
    }
    assert(one.modulus > 0 && other.modulus > 0);
    const uint64_t factor = other.modulus / std::gcd(one.modulus, other.modulus);
    if (one.modulus > (modulus_end - 1) / factor)
        return too_long_together;
    return decimal(fmt::format("{}e-{}", one.modulus * factor, places));
}

Result<bool> is_multiple(const Decimal& value, const Decimal& divisor) {
    ETNA_TRY(const Units units, units_of(divisor));
    if (value.fraction.size() > units.places)
        return false;
    std::string all = value.integer + value.fraction;
    all.resize(value.integer.size() + units.places, '0');
    uint64_t rest = 0;
    for (const char digit : all)
        rest = (rest * 10 + static_cast<uint64_t>(digit - '0')) % units.modulus;
    return rest == 0;
}

Result<Automaton> multiples(Language& language, const Decimal& divisor) {
    ETNA_TRY(const Units units, units_of(divisor));
    return multiples_of(language, divisor, units);
}

Result<ExactMultiples> exact_multiples(Language& language, const Decimal& divisor, uint32_t digits_max) {
    ETNA_TRY(const Units units, units_of(divisor));
    ETNA_TRY(const Automaton all, multiples_of(language, divisor, units));
    Counted counted(all, units);
    for (uint32_t digits = digits_max; digits > 0; --digits) {
        for (const bool may_have_zeros_behind : {true, false}) {
            if (may_have_zeros_behind && !is_power_of_two(units))
                continue;
            auto made = counted.with(digits, may_have_zeros_behind);
            language.take_steps(steps_of_target * counted.target_count());
            ETNA_CHECK(language.check());
            if (made)
                return ExactMultiples{.automaton = std::move(*made), .digits = digits};
        }
    }
    return too_large(divisor);
}

} // namespace etna::grammar
