#include "core/grammar/schema/decimal.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

constexpr std::string_view decimal_digits = "0123456789";

/// Removes the leading digits of `text`, and returns them.
std::string_view take_digits(std::string_view& text) {
    const std::size_t end = std::min(text.find_first_not_of(decimal_digits), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(end);
    return taken;
}

int compare_magnitudes(const Decimal& a, const Decimal& b) {
    if (a.integer.size() != b.integer.size())
        return a.integer.size() < b.integer.size() ? -1 : 1;
    if (const int order = a.integer.compare(b.integer); order != 0)
        return order;
    return a.fraction.compare(b.fraction); // without trailing zeros, a proper prefix is less
}

} // namespace

Decimal Decimal::magnitude() const {
    Decimal result = *this;
    result.is_negative = false;
    return result;
}

Result<Decimal> decimal(std::string_view json_number) {
    const Error wrong{ErrorKind::invalid_argument, fmt::format("`{}` is not a number", json_number)};
    const Error too_long{ErrorKind::unsupported, fmt::format("{} has more than {} digits",
                                                             json_number.substr(0, 40), decimal_digits_max)};
    std::string_view rest = json_number;
    Decimal result;
    result.is_negative = rest.starts_with('-');
    rest.remove_prefix(result.is_negative ? 1 : 0);
    const std::string_view integer = take_digits(rest);
    std::string_view fraction;
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        fraction = take_digits(rest);
        if (fraction.empty())
            return wrong;
    }
    int64_t exponent = 0;
    if (rest.starts_with('e') || rest.starts_with('E')) {
        rest.remove_prefix(1);
        const bool is_below = rest.starts_with('-');
        rest.remove_prefix(is_below || rest.starts_with('+') ? 1 : 0);
        const std::string_view places = take_digits(rest);
        if (places.empty())
            return wrong;
        for (const char digit : places)
            exponent = std::min<int64_t>(exponent * 10 + (digit - '0'), 1'000'000);
        exponent = is_below ? -exponent : exponent;
    }
    if (integer.empty() || !rest.empty())
        return wrong;
    std::string all = fmt::format("{}{}", integer, fraction);
    int64_t point = static_cast<int64_t>(integer.size()) + exponent;
    const std::size_t first = all.find_first_not_of('0');
    if (first == std::string::npos)
        return Decimal();
    all.erase(0, first);
    point -= static_cast<int64_t>(first);
    all.erase(all.find_last_not_of('0') + 1);
    const auto max = static_cast<int64_t>(decimal_digits_max);
    if (point > max || static_cast<int64_t>(all.size()) - point > max)
        return too_long;
    if (point <= 0) {
        all.insert(0, static_cast<std::size_t>(-point), '0');
        result.fraction = all;
    } else {
        const auto integer_size = static_cast<std::size_t>(point);
        all.resize(std::max(all.size(), integer_size), '0');
        result.integer = all.substr(0, integer_size);
        result.fraction = all.substr(integer_size);
    }
    return result;
}

std::string text_of(const Decimal& value) {
    return fmt::format("{}{}{}{}", value.is_negative ? "-" : "", value.integer, value.is_integer() ? "" : ".",
                       value.fraction);
}

std::string short_text(const Decimal& value) {
    constexpr std::size_t short_text_max = 40; // bytes
    const std::string text = text_of(value);
    if (text.size() <= short_text_max)
        return text;
    const std::string all = value.integer + value.fraction;
    const std::size_t first = all.find_first_not_of('0');
    const std::string shortened = all.substr(first, all.find_last_not_of('0') + 1 - first);
    const auto exponent = static_cast<int64_t>(value.integer.size()) - static_cast<int64_t>(first) - 1;
    return fmt::format("{}{}{}{}e{}", value.is_negative ? "-" : "", shortened.front(),
                       shortened.size() > 1 ? "." : "", shortened.substr(1, short_text_max), exponent);
}

int compare(const Decimal& a, const Decimal& b) {
    if (a.is_negative != b.is_negative)
        return a.is_negative ? -1 : 1;
    return a.is_negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

} // namespace etna::grammar
