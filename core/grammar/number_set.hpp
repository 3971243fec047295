#pragma once

#include "core/base/result.hpp"
#include "core/grammar/decimal.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

enum class NumberKind : uint8_t {
    integer,
    fraction, ///< all that are no integers
    any,
};

struct Bound {
    Decimal value = {};
    bool is_excluded = false; ///< only what is beyond it

    bool operator==(const Bound&) const = default;
};

/// Which numbers a JSON text may have.
struct NumberSet {
    NumberKind kind = NumberKind::any;
    std::optional<Bound> least = {};
    std::optional<Bound> most = {};
    std::vector<Decimal> multiples_of = {}; ///< each more than zero
    std::vector<Decimal> no_multiples_of = {};
    std::optional<uint32_t> whole_digits = {}; ///< before the point, at most
};

/// Digits before the point of numbers without bounds: the largest double has one more.
constexpr uint32_t whole_digits_max = 308;

/// Whether numbers up to the bound are finite doubles.
bool is_finite(const std::optional<Bound>& bound);

/// The same numbers, with less said of them: one divisor at most, and none that says nothing of integers.
/// Multiples are an integer kind where all of them are integers. Where a bound does not ask for them, there
/// are no multiples of so many digits that validators in JavaScript find no multiples any more; behind one
/// of 1e308 numbers go to the largest double. Errors: as common_multiple().
Result<NumberSet> simplified(const NumberSet& set);

} // namespace etna::grammar
