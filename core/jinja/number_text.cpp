#include "core/jinja/number_text.hpp"

#include "core/jinja/numbers.hpp"
#include "core/jinja/text.hpp"

#include <charconv>
#include <limits>
#include <string>

namespace etna::jinja {
namespace {

/// Removes single underscores between digits or letters; returns nothing if there is one elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool stands_between =
            i > 0 && i + 1 < text.size() && text[i - 1] != '_' && text[i + 1] != '_' && text[i - 1] != '.';
        if (text[i] != '_') {
            out += text[i];
        } else if (!stands_between) {
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
