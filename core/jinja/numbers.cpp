#include "core/jinja/numbers.hpp"

#include "core/jinja/containers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr double integer_bound = 9223372036854775808.0; ///< 2^63: the first float above int64_t
constexpr uint64_t limb_bound = 1'000'000'000;
constexpr std::size_t limb_digits = 9;

template <class Number>
int order(const Number& left, const Number& right) {
    return left < right ? -1 : (right < left ? 1 : 0);
}

/// Compares two signed decimal numbers without leading zeros.
int decimal_order(std::string_view left, std::string_view right) {
    const bool is_negative = left[0] == '-';
    if (is_negative != (right[0] == '-'))
        return is_negative ? -1 : 1;
    const int magnitudes =
        left.size() == right.size() ? order(left, right) : order(left.size(), right.size());
    return is_negative ? -magnitudes : magnitudes;
}

/// Compares an integer and a float that is not NaN, without rounding the integer, which could make unequal
/// numbers equal.
int mixed_order(const Value& integer, double real) {
    if (std::isinf(real))
        return real < 0 ? 1 : -1;
    const auto small = integer_of(integer);
    if (!small)
        return decimal_order(integer.large().decimal, whole_text(real));
    if (real >= integer_bound || real < -integer_bound)
        return real < 0 ? 1 : -1;
    const auto whole = static_cast<int64_t>(real);
    return *small != whole ? order(*small, whole) : order(0.0, real - static_cast<double>(whole));
}

} // namespace

bool is_number(const Value& value) {
    return value.is(Type::boolean) || value.is(Type::integer) || value.is(Type::large) ||
           value.is(Type::real);
}

double real_of(const Value& number) {
    if (number.is(Type::real))
        return number.real();
    if (const auto integer = integer_of(number))
        return static_cast<double>(*integer);
    const std::string& text = number.large().decimal;
    double real = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), real);
    if (result.ec != std::errc::result_out_of_range)
        return real;
    return text[0] == '-' ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::infinity();
}

std::optional<int64_t> integer_of(const Value& value) {
    if (value.is(Type::integer))
        return value.integer();
    if (value.is(Type::boolean))
        return value.boolean() ? 1 : 0;
    return {};
}

std::optional<int64_t> clamped_integer_of(const Value& value) {
    if (!value.is(Type::large))
        return integer_of(value);
    return value.large().decimal[0] == '-' ? std::numeric_limits<int64_t>::min()
                                           : std::numeric_limits<int64_t>::max();
}

int number_order(const Value& left, const Value& right) {
    const bool left_is_real = left.is(Type::real);
    const bool right_is_real = right.is(Type::real);
    if ((left_is_real && std::isnan(left.real())) || (right_is_real && std::isnan(right.real())))
        return unordered;
    if (left_is_real && right_is_real)
        return order(left.real(), right.real());
    if (left_is_real)
        return -mixed_order(right, left.real());
    if (right_is_real)
        return mixed_order(left, right.real());
    if (!left.is(Type::large) && !right.is(Type::large))
        return order(*integer_of(left), *integer_of(right));
    return decimal_order(integer_text(left), integer_text(right));
}

std::string integer_text(const Value& integer) {
    return integer.is(Type::large) ? integer.large().decimal : std::to_string(*integer_of(integer));
}

Value integer_value(std::string decimal) {
    int64_t integer = 0;
    const auto result = std::from_chars(decimal.data(), decimal.data() + decimal.size(), integer);
    if (result.ec == std::errc())
        return integer;
    auto large = std::make_shared<LargeInteger>();
    large->decimal = std::move(decimal);
    return Value(std::shared_ptr<const LargeInteger>(std::move(large)));
}

std::string decimal_digits(std::string_view digits, int base) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
    if (base == 10)
        return std::string(digits);
    std::vector<uint64_t> limbs = {0}; // nine decimal digits each, least significant first
    for (const char digit : digits) {
        uint64_t carry = 0;
        std::from_chars(&digit, &digit + 1, carry, base);
        for (uint64_t& limb : limbs) {
            const uint64_t sum = limb * static_cast<uint64_t>(base) + carry;
            limb = sum % limb_bound;
            carry = sum / limb_bound;
        }
        if (carry > 0)
            limbs.push_back(carry);
    }
    std::string text = std::to_string(limbs.back());
    for (std::size_t i = limbs.size() - 1; i-- > 0;)
        text += fmt::format("{:0{}}", limbs[i], limb_digits);
    return text;
}

std::string rounded_text(const std::string& decimal, std::size_t places) {
    const bool is_negative = decimal[0] == '-';
    std::string digits(1, '0'); // room for a carry
    digits.append(decimal, is_negative ? 1 : 0);
    if (places > digits.size())
        return "0";
    const std::size_t kept = digits.size() - places;
    const std::string dropped = digits.substr(kept);
    digits.resize(kept);
    std::string middle(places, '0');
    if (places > 0)
        middle[0] = '5';
    const int half = places == 0 ? -1 : order(dropped, middle);
    const bool is_odd = !digits.empty() && (digits.back() - '0') % 2 == 1;
    if (half > 0 || (half == 0 && is_odd)) {
        const std::size_t place = digits.find_last_not_of('9');
        digits[place] = static_cast<char>(digits[place] + 1);
        std::fill(digits.begin() + static_cast<std::ptrdiff_t>(place) + 1, digits.end(), '0');
    }
    digits += std::string(places, '0');
    const std::size_t first = digits.find_first_not_of('0');
    if (first == std::string::npos)
        return "0";
    digits.erase(0, first);
    if (is_negative)
        digits.insert(digits.begin(), '-');
    return digits;
}

std::string whole_text(double number) {
    const std::string text = fmt::format("{:.0f}", std::trunc(number));
    return text == "-0" ? "0" : text;
}

} // namespace etna::jinja
