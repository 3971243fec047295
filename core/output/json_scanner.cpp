#include "core/output/json_scanner.hpp"

#include <charconv>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace etna::output {

namespace {

using Phase = JsonScanner::Phase;

bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

bool is_control(char byte) {
    return static_cast<unsigned char>(byte) < 0x20;
}

/// Whether the number overflows a double, so that other parsers reject it. Underflow counts as zero.
bool is_too_large(std::string_view number) {
    double value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec !=
        std::errc::result_out_of_range)
        return false;
    const auto exponent = number.find_first_of("eE");
    if (exponent != std::string_view::npos)
        return number[exponent + 1] != '-';
    return !number.starts_with("0.") && !number.starts_with("-0.");
}

} // namespace

Phase JsonScanner::feed(char byte) {
    phase_ = step(byte);
    return phase_;
}

Phase JsonScanner::step(char byte) {
    switch (phase_) {
    case Phase::in_string:
        return string_byte(byte);
    case Phase::in_escape:
        return escape_byte(byte);
    case Phase::in_hex:
        return hex_byte(byte);
    case Phase::low_surrogate:
        return byte == '\\' ? Phase::in_escape : Phase::bad;
    case Phase::in_number:
        return number_byte(byte);
    case Phase::in_literal:
        return literal_byte(byte);
    case Phase::done:
    case Phase::bad:
        return Phase::bad;
    default:
        break;
    }
    if (is_space(byte))
        return phase_;
    switch (phase_) {
    case Phase::first_key:
        if (byte == '}')
            return close(byte);
        [[fallthrough]];
    case Phase::key:
        is_key_ = true;
        return byte == '"' ? Phase::in_string : Phase::bad;
    case Phase::colon:
        return byte == ':' ? Phase::value : Phase::bad;
    case Phase::next:
        if (byte == ',')
            return objects_[depth_ - 1] ? Phase::key : Phase::value;
        return close(byte);
    case Phase::first_element:
        return byte == ']' ? close(byte) : begin_value(byte);
    default:
        return begin_value(byte);
    }
}

Phase JsonScanner::begin_value(char byte) {
    if (byte == '{' || byte == '[')
        return open(byte == '{');
    if (depth_ == 0) // only containers have a definite end
        return Phase::bad;
    is_key_ = false;
    number_text_ = byte;
    switch (byte) {
    case '"':
        return Phase::in_string;
    case 't':
        literal_ = "rue";
        return Phase::in_literal;
    case 'f':
        literal_ = "alse";
        return Phase::in_literal;
    case 'n':
        literal_ = "ull";
        return Phase::in_literal;
    case '-':
        number_ = Number::sign;
        return Phase::in_number;
    default:
        number_ = byte == '0' ? Number::zero : Number::digits;
        return is_digit(byte) ? Phase::in_number : Phase::bad;
    }
}

Phase JsonScanner::open(bool is_object) {
    if (depth_ == max_depth)
        return Phase::bad;
    objects_[depth_++] = is_object;
    return is_object ? Phase::first_key : Phase::first_element;
}

Phase JsonScanner::close(char byte) {
    if (byte != (objects_[depth_ - 1] ? '}' : ']'))
        return Phase::bad;
    --depth_;
    return after_value();
}

Phase JsonScanner::after_value() {
    return depth_ == 0 ? Phase::done : Phase::next;
}

Phase JsonScanner::string_byte(char byte) {
    if (byte == '\\')
        return Phase::in_escape;
    if (byte != '"')
        return Phase::in_string;
    return is_key_ ? Phase::colon : after_value();
}

Phase JsonScanner::escape_byte(char byte) {
    if (byte == 'u') {
        hex_ = 0;
        hex_digits_ = 0;
        return Phase::in_hex;
    }
    const bool known = std::string_view("\"\\/bfnrt").find(byte) != std::string_view::npos;
    return known && !high_surrogate_ ? Phase::in_string : Phase::bad;
}

Phase JsonScanner::hex_byte(char byte) {
    const auto digit =
        std::string_view("0123456789abcdef").find(static_cast<char>(is_digit(byte) ? byte : byte | 0x20));
    if (digit == std::string_view::npos)
        return Phase::bad;
    hex_ = hex_ * 16 + static_cast<unsigned>(digit);
    if (++hex_digits_ < 4)
        return Phase::in_hex;
    const bool low = hex_ >= 0xDC00 && hex_ <= 0xDFFF;
    if (low != high_surrogate_)
        return Phase::bad;
    high_surrogate_ = hex_ >= 0xD800 && hex_ <= 0xDBFF;
    return high_surrogate_ ? Phase::low_surrogate : Phase::in_string;
}

Phase JsonScanner::number_byte(char byte) {
    const bool digit = is_digit(byte);
    const auto go = [&](Number number) {
        number_ = number;
        number_text_ += byte;
        return Phase::in_number;
    };
    switch (number_) {
    case Number::sign:
        return digit ? go(byte == '0' ? Number::zero : Number::digits) : Phase::bad;
    case Number::point:
    case Number::fraction:
        if (digit)
            return go(Number::fraction);
        break;
    case Number::exponent:
        if (byte == '+' || byte == '-')
            return go(Number::exponent_sign);
        [[fallthrough]];
    case Number::exponent_sign:
    case Number::exponent_digits:
        if (digit)
            return go(Number::exponent_digits);
        break;
    case Number::digits:
        if (digit)
            return go(Number::digits);
        [[fallthrough]];
    case Number::zero:
        if (byte == '.')
            return go(Number::point);
        break;
    }
    const bool exponent_may_follow =
        number_ == Number::zero || number_ == Number::digits || number_ == Number::fraction;
    if ((byte == 'e' || byte == 'E') && exponent_may_follow)
        return go(Number::exponent);
    if (!exponent_may_follow && number_ != Number::exponent_digits)
        return Phase::bad;
    if (is_too_large(number_text_))
        return Phase::bad;
    phase_ = after_value(); // this byte follows the number
    return step(byte);
}

Phase JsonScanner::literal_byte(char byte) {
    if (byte != literal_.front())
        return Phase::bad;
    literal_.remove_prefix(1);
    return literal_.empty() ? after_value() : Phase::in_literal;
}

bool is_json_object(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] != '{')
        return false;
    JsonScanner scanner;
    for (const char byte : text.substr(first)) {
        if (scanner.phase() == Phase::done ? !is_space(byte)
                                           : is_control(byte) && scanner.phase() == Phase::in_string)
            return false;
        if (scanner.phase() != Phase::done && scanner.feed(byte) == Phase::bad)
            return false;
    }
    return scanner.phase() == Phase::done;
}

void append_json_byte(std::string& json, char byte, Phase phase_before) {
    if (phase_before == Phase::in_string && is_control(byte)) {
        append_json_text(json, {&byte, 1});
    } else {
        json += byte;
    }
}

void append_json_text(std::string& json, std::string_view text) {
    for (const char byte : text) {
        if (byte == '"' || byte == '\\')
            json += '\\';
        if (byte == '\n') {
            json += "\\n";
        } else if (byte == '\t') {
            json += "\\t";
        } else if (byte == '\r') {
            json += "\\r";
        } else if (is_control(byte)) {
            fmt::format_to(std::back_inserter(json), "\\u{:04x}", static_cast<unsigned>(byte));
        } else {
            json += byte;
        }
    }
}

std::string json_string(std::string_view text) {
    std::string json = "\"";
    append_json_text(json, text);
    return json + '"';
}

} // namespace etna::output
