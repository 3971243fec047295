#include "core/grammar/multiples.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

namespace etna::grammar {
namespace {

/// States that the exact multiples may have, so that there is room for bounds beside them.
constexpr uint32_t exact_states_max = 12'000;

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

/// A state is what is left of the digits so far when the divisor is taken away as often as it goes, and a
/// row that says how they go on. State 0 is the beginning; behind it stand the rests of one row after
/// another:
///
/// - whole rows, before the point. Where digits are counted, one for each count, and one more for zeros
///   behind them: doubles round numbers of so many digits, which leaves multiples of powers of two as they
///   are. Else one that stays;
/// - a row for each count of digits behind the point, up to all places: zeros may follow.
class Rows {
public:
    /// `digits`: how many are counted; zero for any number of them.
    Rows(Units units, uint32_t digits)
        : modulus_(static_cast<uint32_t>(units.modulus)), places_(units.places), digits_(digits) {
        raw_.class_of['-'] = minus;
        raw_.class_of['.'] = point;
        for (uint8_t digit = 0; digit < 10; ++digit)
            raw_.class_of[static_cast<uint8_t>('0' + digit)] = first_digit + digit;
        raw_.class_count = first_digit + 10;
        const std::size_t states = 1 + std::size_t{whole_rows() + places_ + 1} * modulus_;
        raw_.targets.assign(raw_.class_count * states, Automaton::dead);
        raw_.accepts.assign(states, false);
    }

    Automaton automaton() {
        target(0, minus) = 0; // the sets that this is joined with have one sign at most
        for (uint8_t digit = 0; digit < 10; ++digit)
            target(0, first_digit + digit) = state_of(0, digit % modulus_);
        for (uint32_t row = 0; row < whole_rows(); ++row)
            add_whole(row);
        for (uint32_t place = 0; place <= places_; ++place)
            add_place(place);
        return minimised(raw_);
    }

private:
    enum Class : uint8_t { other, minus, point, first_digit };

    /// Of the divisor itself, such as 0.25.
    [[nodiscard]] bool is_power_of_two() const {
        uint32_t fives = 1;
        for (uint32_t place = 0; place < places_; ++place)
            fives *= 5;
        return (modulus_ >> std::countr_zero(modulus_)) == fives;
    }
    [[nodiscard]] uint32_t whole_rows() const { return digits_ == 0 ? 1 : digits_ + 1; }
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

    /// Row i of those that are counted has i + 1 digits; the last has more.
    void add_whole(uint32_t row) {
        const bool is_counted = digits_ != 0;
        const uint32_t next_row = is_counted ? std::min(row + 1, digits_) : row;
        const uint8_t zeros = is_power_of_two() ? 1 : 0;
        const uint8_t digits = is_counted && row + 1 >= digits_ ? zeros : 10;
        const bool may_have_point = !is_counted || row + 1 + places_ <= digits_;
        for (uint32_t rest = 0; rest < modulus_; ++rest) {
            const uint32_t state = state_of(row, rest);
            raw_.accepts[state] = is_multiple(rest, places_);
            if (may_have_point)
                target(state, point) = state_of(whole_rows(), rest);
            for (uint8_t digit = 0; digit < digits; ++digit)
                target(state, first_digit + digit) = state_of(next_row, rest_behind(rest, digit));
        }
    }

    void add_place(uint32_t place) {
        const uint32_t row = whole_rows() + place;
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
    uint32_t digits_;
    Automaton raw_;
};

/// With d digits of the divisor, about as many states as it is large are left for each count of digits but
/// the first d and the last d: those have few that can still become a multiple.
uint32_t digits_counted(const Units& units) {
    const auto few = static_cast<uint32_t>(2 * std::to_string(units.modulus).size());
    return std::min(exact_digits, few - 1 + static_cast<uint32_t>(exact_states_max / units.modulus));
}

} // namespace

Result<Automaton> multiples(const Decimal& divisor) {
    ETNA_TRY(const Units units, units_of(divisor));
    return Rows(units, 0).automaton();
}

Result<Automaton> exact_multiples(std::span<const Decimal> divisors) {
    ETNA_TRY(Units units, units_of(divisors.front()));
    for (const Decimal& divisor : divisors.subspan(1)) {
        ETNA_TRY(const Units other, units_of(divisor));
        ETNA_TRY(units, common_multiple(units, other));
    }
    return Rows(units, digits_counted(units)).automaton();
}

} // namespace etna::grammar
