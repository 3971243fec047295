#include "core/grammar/number_set.hpp"

#include "core/grammar/multiples.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::grammar {
namespace {

/// The leading digits of the largest double, 2^1024 - 2^971; the others are cut off.
constexpr std::string_view largest_digits = "17976931348623157";

/// Digits before the point of a quotient that JavaScript writes without an exponent: below 1e21. Validators
/// such as Ajv search it for a point.
constexpr int32_t quotient_digits_max = 20;

Decimal largest_finite() {
    std::string digits(largest_digits);
    digits.resize(whole_digits_max + 1, '0');
    return {.integer = std::move(digits)};
}

Decimal one() {
    return {.integer = "1"};
}

/// The digits before the point up to which all quotients are below 1e21.
uint32_t whole_digits_of(const Decimal& divisor) {
    const bool is_below_one = divisor.integer == "0";
    const auto zeros = static_cast<int32_t>(divisor.fraction.find_first_not_of('0'));
    const int32_t exponent = is_below_one ? -1 - zeros : static_cast<int32_t>(divisor.integer.size()) - 1;
    return static_cast<uint32_t>(std::max(quotient_digits_max + exponent, 1));
}

/// Whether all numbers of the set have more than `digits` digits before the point.
bool asks_for_more(const NumberSet& set, uint32_t digits) {
    return (set.least && !set.least->value.is_negative && set.least->value.integer.size() > digits) ||
           (set.most && set.most->value.is_negative && set.most->value.integer.size() > digits);
}

/// The bound on the far side, if none is given and the near one leaves only numbers that unbounded sets do
/// not contain, although readers of JSON accept them; `is_negative` is the side of both.
std::optional<Bound> far_bound(std::optional<Bound> said, const std::optional<Bound>& near,
                               bool is_negative) {
    if (said || !is_finite(near) || near->value.is_negative != is_negative ||
        near->value.integer.size() <= whole_digits_max)
        return said;
    Decimal end = largest_finite();
    end.is_negative = is_negative;
    return Bound{.value = std::move(end)};
}

/// Replaces all divisors by one.
Result<NumberSet> with_common_multiple(NumberSet set) {
    Decimal least = set.multiples_of.front();
    Decimal common = least;
    for (const Decimal& divisor : set.multiples_of) {
        least = compare(divisor, least) < 0 ? divisor : least;
        ETNA_TRY(common, common_multiple(common, divisor));
    }
    if (set.kind == NumberKind::integer) {
        ETNA_TRY(common, common_multiple(common, one()));
    } else if (set.kind == NumberKind::any && common.is_integer()) {
        set.kind = NumberKind::integer;
    }
    const bool says_nothing = set.kind == NumberKind::integer && common == one();
    // The JSON-Schema-Test-Suite requires all integers that are doubles to be multiples of 0.5.
    const bool is_of_all_sizes = says_nothing && compare(least, one()) < 0;
    const uint32_t digits = whole_digits_of(least);
    if (!is_of_all_sizes && !asks_for_more(set, digits))
        set.whole_digits = digits;
    set.multiples_of.clear();
    if (!says_nothing)
        set.multiples_of.push_back(std::move(common));
    return set;
}

} // namespace

bool is_finite(const std::optional<Bound>& bound) {
    return bound && compare(bound->value.magnitude(), largest_finite()) <= 0;
}

Result<NumberSet> simplified(const NumberSet& set) {
    NumberSet result = set;
    result.most = far_bound(set.most, set.least, false);
    result.least = far_bound(set.least, set.most, true);
    if (!set.multiples_of.empty()) {
        ETNA_TRY(result, with_common_multiple(std::move(result)));
    }
    for (Decimal& divisor : result.no_multiples_of) {
        if (result.kind == NumberKind::integer) {
            ETNA_TRY(divisor, common_multiple(divisor, one()));
        }
    }
    return result;
}

} // namespace etna::grammar
