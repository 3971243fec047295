#include "core/jinja/numbers.hpp"

#include "core/jinja/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

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
    static_assert(std::numeric_limits<long double>::digits >= 64, "holds every int64_t exactly");
    if (std::isinf(real))
        return real < 0 ? 1 : -1;
    if (const auto small = integer_of(integer))
        return order(static_cast<long double>(*small), static_cast<long double>(real));
    return decimal_order(integer.large().decimal, whole_text(real));
}

/// Removes single underscores between digits or letters; returns nothing if there is one elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_between =
            i > 0 && i + 1 < text.size() && text[i - 1] != '_' && text[i + 1] != '_' && text[i - 1] != '.';
        if (text[i] != '_') {
            out += text[i];
        } else if (!is_between) {
            return {};
        }
    }
    return out;
}

/// Removes a leading sign.
bool take_sign(std::string_view& text) {
    const bool is_negative = !text.empty() && text[0] == '-';
    if (!text.empty() && (text[0] == '-' || text[0] == '+'))
        text.remove_prefix(1);
    return is_negative;
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

std::string whole_text(double number) {
    const std::string text = fmt::format("{:.0f}", std::trunc(number));
    return text == "-0" ? "0" : text;
}

std::optional<std::string> parse_integer(std::string_view text, int base) {
    text = stripped(text, {}, Side::both);
    const bool is_negative = take_sign(text);
    const char prefix = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
    const int prefix_base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    if (prefix_base != 0 && (base == prefix_base || base == 0)) {
        text.remove_prefix(2);
        base = prefix_base;
    }
    if (base == 0)
        base = 10;
    if (base < 2 || base > 36)
        return {};
    const auto digits = without_underscores(text);
    if (!digits || digits->empty() || digits->size() > integer_digits_max)
        return {};
    for (const char& digit : *digits) {
        int value = 0;
        if (std::from_chars(&digit, &digit + 1, value, base).ec != std::errc())
            return {};
    }
    const std::string decimal = decimal_digits(*digits, base);
    return is_negative && decimal != "0" ? "-" + decimal : decimal;
}

std::optional<double> parse_real(std::string_view text) {
    text = stripped(text, {}, Side::both);
    const bool is_negative = take_sign(text);
    const auto digits = without_underscores(text);
    if (!digits || digits->empty() || (*digits)[0] == '-' || (*digits)[0] == '+' ||
        digits->find('(') != std::string::npos)
        return {};
    double number = 0;
    const auto result = std::from_chars(digits->data(), digits->data() + digits->size(), number);
    if (result.ptr != digits->data() + digits->size() || result.ec == std::errc::invalid_argument)
        return {};
    if (result.ec == std::errc::result_out_of_range) {
        const std::size_t mark = digits->find_first_of("eE");
        const bool is_tiny = mark != std::string::npos && digits->find('-', mark) != std::string::npos;
        number = is_tiny ? 0 : std::numeric_limits<double>::infinity();
    }
    return is_negative ? -number : number;
}

} // namespace etna::jinja
