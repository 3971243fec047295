#include "core/jinja/numbers.hpp"

#include "core/jinja/text.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace etna::jinja {
namespace {

template <class Number>
int order(const Number& left, const Number& right) {
    return left < right ? -1 : (right < left ? 1 : 0);
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
    return number.is(Type::real) ? number.real() : static_cast<double>(*integer_of(number));
}

std::optional<int64_t> integer_of(const Value& value) {
    if (value.is(Type::integer))
        return value.integer();
    if (value.is(Type::boolean))
        return value.boolean() ? 1 : 0;
    return {};
}

int number_order(const Value& left, const Value& right) {
    static_assert(std::numeric_limits<long double>::digits >= 64, "holds every int64_t and double exactly");
    const auto exact = [](const Value& number) {
        return number.is(Type::real) ? static_cast<long double>(number.real())
                                     : static_cast<long double>(*integer_of(number));
    };
    const long double first = exact(left);
    const long double second = exact(right);
    return std::isnan(first) || std::isnan(second) ? unordered : order(first, second);
}

std::string integer_text(const Value& integer) {
    return integer.is(Type::large) ? integer.string() : std::to_string(*integer_of(integer));
}

Value integer_value(std::string decimal) {
    int64_t integer = 0;
    const auto result = std::from_chars(decimal.data(), decimal.data() + decimal.size(), integer);
    if (result.ec == std::errc())
        return integer;
    return Value(std::make_shared<const Text>(std::move(decimal), Text::Kind::integer));
}

std::optional<int64_t> whole_number(double number) {
    constexpr double bound = 9223372036854775808.0; // 2^63
    if (number >= -bound && number < bound)
        return static_cast<int64_t>(number);
    return {};
}

std::optional<Value> parse_integer(std::string_view text) {
    text = stripped(text, {}, Side::both);
    const bool is_negative = take_sign(text);
    const auto digits = without_underscores(text);
    if (!digits || digits->empty() || digits->find_first_not_of("0123456789") != std::string::npos)
        return {};
    return integer_value(is_negative ? "-" + *digits : *digits);
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
