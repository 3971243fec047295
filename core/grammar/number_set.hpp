#pragma once

#include "core/base/result.hpp"
#include "core/grammar/decimal.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

enum class NumberKind : uint8_t {
    integer,
    fraction, ///< all non-integers
    any,
};

struct Bound {
    Decimal value = {};
    bool is_excluded = false; ///< the bound itself is excluded

    bool operator==(const Bound&) const = default;
};

/// A set of JSON numbers.
struct NumberSet {
    NumberKind kind = NumberKind::any;
    std::optional<Bound> least = {};
    std::optional<Bound> most = {};
    std::vector<Decimal> multiples_of = {}; ///< each greater than zero
    std::vector<Decimal> no_multiples_of = {};
    std::optional<uint32_t> whole_digits = {}; ///< maximum digits before the point
};

/// Maximum digits before the point of numbers without bounds: the largest double has one more.
constexpr uint32_t whole_digits_max = 308;

/// Whether all numbers up to the bound are finite doubles.
bool is_finite(const std::optional<Bound>& bound);

/// The same set in normal form: at most one divisor, and none that is redundant for integers. If all
/// multiples are integers, the kind becomes integer. Unless a bound requires them, multiples with so many
/// digits that JavaScript validators no longer recognise them are left out; with a bound at or beyond 1e308,
/// numbers go up to the largest double. Errors: as common_multiple().
Result<NumberSet> simplified(const NumberSet& set);

} // namespace etna::grammar
