#include "core/grammar/multiples.hpp"

#include <bit>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::grammar {
namespace {

/// What it takes to make a target of a state, and to look at it in minimised(); see Language::allow_steps().
constexpr uint64_t steps_of_target = 5;

/// States that the exact multiples may have, so that there is room for bounds beside them.
constexpr uint32_t exact_states_max = 13'000;

uint32_t power_of_ten(std::size_t exponent, uint32_t modulus) {
    uint64_t power = 1 % modulus;
    for (; exponent > 0; --exponent)
        power = power * 10 % modulus;
    return static_cast<uint32_t>(power);
}

/// A divisor in units of its last place.
struct Units {
    uint64_t modulus;
    uint32_t places; ///< digits behind the point that are a part of the number: zeros may follow
};

Error too_large() {
    return {ErrorKind::unsupported, "the divisor has too many digits", "round it"};
}

Result<Units> checked(Units units) {
    if (units.modulus * (units.places + 2) > divisor_states_max)
        return too_large();
    return units;
}

Result<Units> units_of(const Decimal& divisor) {
    const std::string all = divisor.integer + divisor.fraction;
    constexpr std::size_t surely_small = 9; // digits
    if (all.size() > surely_small)
        return too_large();
    return checked({std::stoul(all), static_cast<uint32_t>(divisor.fraction.size())});
}

/// Of the least number that is a multiple of both.
Result<Units> common_multiple(Units a, Units b) {
    for (; a.places < b.places; ++a.places)
        a.modulus *= 10;
    for (; b.places < a.places; ++b.places)
        b.modulus *= 10;
    Units common = {std::lcm(a.modulus, b.modulus), a.places};
    for (; common.places > 0 && common.modulus % 10 == 0; --common.places)
        common.modulus /= 10;
    return checked(common);
}

/// A state is what is left of the digits so far when the divisor is taken away as often as it goes, and how
/// many of them stand behind the point. State 0 is the beginning; behind it stand the rests before the point,
/// and those of each count of digits behind it, up to all places: zeros may follow.
class Rows {
public:
    explicit Rows(Units units) : modulus_(static_cast<uint32_t>(units.modulus)), places_(units.places) {
        raw_.class_of['-'] = minus;
        raw_.class_of['.'] = point;
        for (uint8_t digit = 0; digit < 10; ++digit)
            raw_.class_of[static_cast<uint8_t>('0' + digit)] = first_digit + digit;
        raw_.class_count = first_digit + 10;
        const std::size_t states = 1 + std::size_t{places_ + 2} * modulus_;
        raw_.targets.assign(raw_.class_count * states, Automaton::dead);
        raw_.accepts.assign(states, false);
    }

    [[nodiscard]] std::size_t target_count() const { return raw_.targets.size(); }

    Automaton automaton() {
        target(0, minus) = 0; // the sets that this is joined with have one sign at most
        for (uint8_t digit = 0; digit < 10; ++digit)
            target(0, first_digit + digit) = state_of(whole, digit % modulus_);
        add_whole();
        for (uint32_t place = 0; place <= places_; ++place)
            add_place(place);
        return minimised(raw_);
    }

private:
    enum Class : uint8_t { other, minus, point, first_digit };

    static constexpr uint32_t whole = 0; ///< the row before the point; those behind it follow

    [[nodiscard]] uint32_t state_of(uint32_t row, uint32_t rest) const { return 1 + row * modulus_ + rest; }
    uint32_t& target(uint32_t state, uint8_t c) {
        return raw_.targets[std::size_t{state} * raw_.class_count + c];
    }
    [[nodiscard]] uint32_t rest_behind(uint32_t rest, uint8_t digit) const {
        return static_cast<uint32_t>((uint64_t{rest} * 10 + digit) % modulus_);
    }
    /// Whether a text may end where so many places are missing.
    [[nodiscard]] bool is_multiple(uint32_t rest, uint32_t missing) const {
        return uint64_t{rest} * power_of_ten(missing, modulus_) % modulus_ == 0;
    }

    void add_whole() {
        for (uint32_t rest = 0; rest < modulus_; ++rest) {
            const uint32_t state = state_of(whole, rest);
            raw_.accepts[state] = is_multiple(rest, places_);
            target(state, point) = state_of(whole + 1, rest);
            for (uint8_t digit = 0; digit < 10; ++digit)
                target(state, first_digit + digit) = state_of(whole, rest_behind(rest, digit));
        }
    }

    void add_place(uint32_t place) {
        const uint32_t row = whole + 1 + place;
        for (uint32_t rest = 0; rest < modulus_; ++rest) {
            const uint32_t state = state_of(row, rest);
            raw_.accepts[state] = is_multiple(rest, places_ - place);
            if (place == places_) {
                target(state, first_digit) = state; // zeros behind the last place
                continue;
            }
            for (uint8_t digit = 0; digit < 10; ++digit)
                target(state, first_digit + digit) = state_of(row + 1, rest_behind(rest, digit));
        }
    }

    uint32_t modulus_;
    uint32_t places_;
    Automaton raw_;
};

/// Of the divisor itself, such as 0.25.
bool is_power_of_two(const Units& units) {
    uint64_t fives = 1;
    for (uint32_t place = 0; place < units.places; ++place)
        fives *= 5;
    return (units.modulus >> std::countr_zero(units.modulus)) == fives;
}

/// Multiples with a number of digits: those before the point, and all places where there is a point. Zeros
/// may follow multiples of powers of two: doubles round numbers of so many digits, which leaves such as they
/// are.
///
/// A state is one of the automaton of all multiples, and how many digits there were, which no longer counts
/// behind the point. Those from which too few digits are left for a multiple are no states: of a divisor that
/// two and five do not divide, about as many are left for each count of digits as it is large, but for the
/// counts near the first digit and near the last.
class Counted {
public:
    Counted(const Automaton& all, const Units& units) : all_(&all), units_(units) {
        can_end_.push_back(all.accepts);
        for (uint32_t left = 1; left <= exact_digits; ++left)
            can_end_.push_back(ends_within(left));
    }

    /// With at most so many digits; none where that takes more than exact_states_max states.
    std::optional<Automaton> with(uint32_t digits) {
        digits_ = digits;
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

    /// Of the last try.
    [[nodiscard]] std::size_t target_count() const { return raw_.targets.size(); }

private:
    struct State {
        uint32_t row;
        uint32_t in_all;
    };

    /// Row i has i digits before the point.
    [[nodiscard]] uint32_t zeros_row() const { return digits_ + 1; } ///< zeros that are not counted
    [[nodiscard]] uint32_t point_row() const { return digits_ + 2; } ///< behind the point
    [[nodiscard]] uint32_t rows() const { return digits_ + 3; }

    [[nodiscard]] uint32_t after(uint32_t state, char byte) const {
        return all_->next(state, static_cast<uint8_t>(byte));
    }

    /// Which states of the automaton lead to a multiple within so many digits.
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

    /// The row of what comes behind a state; none where it may not come.
    [[nodiscard]] std::optional<uint32_t> row_behind(uint32_t row, uint8_t byte) const {
        if (byte == '.' && row + units_.places <= digits_)
            return point_row();
        if (byte == '-' || row == point_row())
            return row;
        if (row < digits_ && byte != '.')
            return row + 1;
        if (byte == '0' && row != point_row() && is_power_of_two(units_))
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
        return row > digits_ || is_power_of_two(units_) || can_end_[digits_ - row][state];
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
    std::vector<std::vector<bool>> can_end_; ///< [digits that are left][state]
    uint32_t digits_ = 0;
    Automaton raw_;
    std::vector<uint32_t> number_of_; ///< [row][state of all_]
    std::vector<State> states_;       ///< by number
};

Result<Automaton> multiples_of(Language& language, const Units& units) {
    Rows rows(units);
    language.take_steps(steps_of_target * rows.target_count());
    ETNA_CHECK(language.check());
    return rows.automaton();
}

} // namespace

Result<Automaton> multiples(Language& language, const Decimal& divisor) {
    ETNA_TRY(const Units units, units_of(divisor));
    return multiples_of(language, units);
}

Result<ExactMultiples> exact_multiples(Language& language, std::span<const Decimal> divisors,
                                       uint32_t digits_max) {
    ETNA_TRY(Units units, units_of(divisors.front()));
    for (const Decimal& divisor : divisors.subspan(1)) {
        ETNA_TRY(const Units other, units_of(divisor));
        ETNA_TRY(units, common_multiple(units, other));
    }
    ETNA_TRY(const Automaton all, multiples_of(language, units));
    Counted counted(all, units);
    for (uint32_t digits = digits_max; digits > 0; --digits) {
        auto made = counted.with(digits);
        language.take_steps(steps_of_target * counted.target_count());
        ETNA_CHECK(language.check());
        if (made)
            return ExactMultiples{.automaton = std::move(*made), .digits = digits};
    }
    return too_large();
}

} // namespace etna::grammar
