#include "core/grammar/schema/multiples.hpp"

#include <cassert>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Limit of divisors in units of their last digit: 10^exact_digits.
constexpr uint64_t modulus_end = 1'000'000'000'000'000;

/// A divisor in units of its last digit.
struct Units {
    uint64_t modulus; ///< at most exact_digits digits, so that ten times its value fits too
    uint32_t places;  ///< digits after the point that belong to the number; zeros may follow
};

Result<Units> units_of(const Decimal& divisor) {
    const std::string all = divisor.integer + divisor.fraction;
    if (all.size() > exact_digits) {
        return Error{ErrorKind::unsupported,
                     fmt::format("the divisor {} has more than {} digits", short_text(divisor), exact_digits),
                     "choose a shorter divisor: readers of JSON do not preserve all digits of its multiples"};
    }
    return Units{std::stoull(all), static_cast<uint32_t>(divisor.fraction.size())};
}

/// Builds the automaton of a divisor's multiples with few states beyond the minimum: states from which the
/// same digits lead to multiples are merged. Such states agree in the shortest such digits, including leading
/// zeros: after those digits the number is a multiple again. Source: Alexeev, Minimal DFA for testing
/// divisibility (2004).
///
/// `rest` is the number that has been read, with zeros for all missing digits, modulo the divisor.
class Remainders {
public:
    explicit Remainders(Units units) : units_(units) {
        uint64_t power = 1 % units.modulus;
        uint64_t ends = 1;
        for (uint32_t exponent = 0; exponent <= units.places; ++exponent) {
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

    /// Empty if it takes more than divisor_states_max states.
    std::optional<Automaton> automaton() {
        add_row(false);
        target(0, minus) = 0; // the sets that this is intersected with have at most one sign
        add_integer_state({.missing = units_.places});
        target(0, point) = Automaton::dead;
        for (std::size_t at = 0; at < states_.size(); ++at) {
            if (states_.size() > divisor_states_max)
                return std::nullopt;
            const State state = states_[at];
            add_row(state.rest == 0);
            if (state.is_before_point) {
                add_integer_state(state);
            } else {
                add_fraction_state(state);
            }
        }
        return minimised(raw_);
    }

private:
    enum Class : uint8_t { other, minus, point, first_digit };

    struct State {
        uint32_t missing = 0; ///< missing digits after the point
        uint64_t rest = 0;
        bool is_before_point = true; ///< still before the point
    };
    struct Key {
        bool is_before_point;
        uint32_t digits; ///< fewest digits that lead to a multiple
        uint64_t end;    ///< those digits, as a number
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            return ((key.end * 2 + (key.is_before_point ? 1 : 0)) << 4) ^ key.digits;
        }
    };

    uint32_t& target(std::size_t state, uint8_t c) { return raw_.targets[state * raw_.class_count + c]; }

    void add_row(bool accepts) {
        raw_.accepts.push_back(accepts);
        raw_.targets.resize(raw_.targets.size() + raw_.class_count, Automaton::dead);
    }

    /// Sets the targets of the last row, for a state before the point.
    void add_integer_state(State state) {
        const std::size_t row = raw_.accepts.size() - 1;
        const uint64_t rest = state.rest;
        for (uint8_t digit = 0; digit < 10; ++digit) {
            state.rest = (rest * 10 + digit * powers_[units_.places]) % units_.modulus;
            target(row, first_digit + digit) = number(state);
        }
        state.rest = rest;
        state.is_before_point = false;
        target(row, point) = number(state);
    }

    void add_fraction_state(State state) {
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
    [[nodiscard]] std::optional<Key> key_of(const State& state) const {
        uint64_t end = (units_.modulus - state.rest) % units_.modulus;
        uint32_t digits = state.missing;
        uint64_t ends = ends_[digits];
        for (; end >= ends && state.is_before_point; ++digits) {
            ends *= 10;
            end = end * 10 % units_.modulus;
        }
        return end < ends ? std::optional(Key{state.is_before_point, digits, end}) : std::nullopt;
    }

    /// The number of a state in raw_; `dead` if no digits lead from it to a multiple.
    uint32_t number(const State& state) {
        const auto key = key_of(state);
        if (!key)
            return Automaton::dead;
        const auto next = static_cast<uint32_t>(1 + states_.size()); // after the first
        const auto [entry, is_new] = number_of_.try_emplace(*key, next);
        if (is_new)
            states_.push_back(state);
        return entry->second;
    }

    Units units_;
    std::vector<uint64_t> powers_; ///< powers of ten modulo the divisor, by exponent
    std::vector<uint64_t> ends_;   ///< number of endings, by their number of digits
    std::vector<State> states_;    ///< all but the first
    std::unordered_map<Key, uint32_t, KeyHash> number_of_;
    Automaton raw_;
};

} // namespace

Result<Decimal> common_multiple(const Decimal& a, const Decimal& b) {
    ETNA_TRY(Units one, units_of(a));
    ETNA_TRY(Units other, units_of(b));
    const uint32_t places = std::max(one.places, other.places);
    const Error too_long{ErrorKind::unsupported,
                         fmt::format("the least common multiple of {} and {} has more than {} digits",
                                     short_text(a), short_text(b), exact_digits),
                         "choose divisors with more factors in common"};
    for (Units* const units : {&one, &other}) {
        for (; units->places < places; ++units->places) {
            if (units->modulus >= modulus_end / 10)
                return too_long;
            units->modulus *= 10;
        }
    }
    assert(one.modulus > 0 && other.modulus > 0);
    const uint64_t factor = other.modulus / std::gcd(one.modulus, other.modulus);
    if (one.modulus > (modulus_end - 1) / factor)
        return too_long;
    return decimal(fmt::format("{}e-{}", one.modulus * factor, places));
}

Result<Automaton> multiples(const Decimal& divisor) {
    ETNA_TRY(const Units units, units_of(divisor));
    auto made = Remainders(units).automaton();
    if (made)
        return std::move(*made);
    return Error{
        ErrorKind::unsupported,
        fmt::format("the divisor {} needs more than {} states", short_text(divisor), divisor_states_max),
        "choose a smaller divisor, or drop the keyword with a lenient schema (--lenient-schema)"};
}

} // namespace etna::grammar
