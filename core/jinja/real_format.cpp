#include "core/jinja/real_format.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/print.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr int64_t precision_max = 1000; ///< digits; Python's own limit is that of an int

/// Converts to upper case if the type is E, F or G.
std::string in_case(std::string text, char type) {
    if (type == 'E' || type == 'F' || type == 'G') {
        for (char& letter : text)
            letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    return text;
}

/// Adds a missing decimal point, as the alternate form requires.
std::string with_point(std::string text) {
    if (text.find('.') == std::string::npos)
        text.insert(std::min(text.find('e'), text.size()), 1, '.');
    return text;
}

/// C's %g with `precision` significant digits: uses an exponent if the number is tiny or has more digits
/// before the point; strips trailing zeros unless the form is alternate. A plain number (without a type)
/// looks like a float.
std::string general(double magnitude, int precision, bool is_alternate, bool is_plain) {
    const std::string scientific = fmt::format("{:.{}e}", magnitude, precision - 1);
    const std::size_t mark = scientific.find('e');
    int exponent = 0;
    const char* digits = scientific.data() + mark + (scientific[mark + 1] == '+' ? 2 : 1);
    std::from_chars(digits, scientific.data() + scientific.size(), exponent);
    const bool is_fixed = exponent >= -4 && exponent < precision - (is_plain ? 1 : 0);
    std::string number =
        is_fixed ? fmt::format("{:.{}f}", magnitude, precision - 1 - exponent) : scientific.substr(0, mark);
    if (!is_alternate && number.find('.') != std::string::npos) {
        number.resize(number.find_last_not_of('0') + 1);
        if (number.back() == '.')
            number.pop_back();
    }
    if (is_fixed && is_plain && number.find('.') == std::string::npos)
        number += ".0";
    return is_fixed ? number : number + scientific.substr(mark);
}

} // namespace

Result<std::string> real_digits(double magnitude, const FormatSpec& spec) {
    if (spec.precision > precision_max)
        return value_error("precision too big");
    if (!std::isfinite(magnitude))
        return in_case(real_text(magnitude), spec.type) + (spec.type == '%' ? "%" : "");
    const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
    std::string text;
    switch (spec.type) {
    case 'e':
    case 'E':
        text = fmt::format("{:.{}e}", magnitude, precision);
        break;
    case 'f':
    case 'F':
    case '%':
        text = fmt::format("{:.{}f}", spec.type == '%' ? magnitude * 100 : magnitude, precision);
        break;
    case 'g':
    case 'G':
    case 'n':
        text = general(magnitude, std::max(precision, 1), spec.alternate, false);
        break;
    default:
        text = spec.precision < 0 ? real_text(magnitude)
                                  : general(magnitude, std::max(precision, 1), spec.alternate, true);
    }
    text = spec.alternate ? with_point(text) : text;
    return spec.type == '%' ? text + "%" : in_case(text, spec.type);
}

} // namespace etna::jinja
