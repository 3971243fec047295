#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::chat::output {

/// Reads one JSON object or array byte by byte (RFC 8259) and says where it ends. One liberty: control
/// characters may stand in strings as they are, since models write line breaks so; append_json_byte() repairs
/// them. Escapes of lone surrogates are errors.
class JsonScanner {
public:
    static constexpr std::size_t max_depth = 256;

    enum class Phase : uint8_t {
        value,         ///< a value must come
        first_element, ///< a value or "]"
        first_key,     ///< a key or "}"
        key,           ///< a key must come
        colon,
        next, ///< "," or the end of the container
        in_string,
        in_escape,
        in_hex,
        low_surrogate, ///< "\u" with a low surrogate must come; in_escape and in_hex follow
        in_number,
        in_literal,
        done,
        bad,
    };

    /// The phase after `byte`.
    Phase feed(char byte);

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] std::size_t depth() const { return depth_; } ///< containers open
    [[nodiscard]] bool in_key() const { return is_key_; } ///< the string that is read, or was last, is a key

private:
    enum class Number : uint8_t {
        sign,
        zero,
        digits,
        point,
        fraction,
        exponent,
        exponent_sign,
        exponent_digits
    };

    Phase step(char byte);
    Phase begin_value(char byte);
    Phase open(bool is_object);
    Phase close(char byte);
    Phase after_value();
    Phase string_byte(char byte);
    Phase escape_byte(char byte);
    Phase hex_byte(char byte);
    Phase number_byte(char byte);
    Phase literal_byte(char byte);

    Phase phase_ = Phase::value;
    std::bitset<max_depth> objects_; ///< per depth: an object, not an array
    std::size_t depth_ = 0;
    bool is_key_ = false;
    bool high_surrogate_ = false; ///< the last escape was one
    unsigned hex_ = 0;
    unsigned hex_digits_ = 0;
    Number number_ = Number::sign;
    std::string number_text_;
    std::string_view literal_; ///< what is left of true, false or null
};

/// Whether `text` is one JSON object, and nothing else but white space; control characters in strings count
/// as errors here.
bool is_json_object(std::string_view text);

/// Appends a byte of scanned JSON; a control character in a string becomes an escape.
void append_json_byte(std::string& json, char byte, JsonScanner::Phase phase_before);

/// Appends UTF-8 text as the inside of a JSON string.
void append_json_text(std::string& json, std::string_view text);

std::string json_string(std::string_view text);

} // namespace etna::chat::output
