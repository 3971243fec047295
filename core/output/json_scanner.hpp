#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::output {

/// Incremental scanner for one JSON object or array (RFC 8259); finds its end. One deviation: strings may
/// contain raw control characters, because models write line breaks that way; append_json_byte() escapes
/// them. Escapes of lone surrogates are errors.
class JsonScanner {
public:
    static constexpr std::size_t max_depth = 256;

    enum class Phase : uint8_t {
        value,         ///< expects a value
        first_element, ///< expects a value or "]"
        first_key,     ///< expects a key or "}"
        key,           ///< expects a key
        colon,
        next, ///< expects "," or the end of the container
        in_string,
        in_escape,
        in_hex,
        low_surrogate, ///< expects "\u" with a low surrogate; in_escape and in_hex follow
        in_number,
        in_literal,
        done,
        bad,
    };

    /// Consumes `byte` and returns the new phase.
    Phase feed(char byte);

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] std::size_t depth() const { return depth_; } ///< open containers
    [[nodiscard]] bool in_key() const { return is_key_; }      ///< the current or last string is a key

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
    bool high_surrogate_ = false; ///< the last escape was a high surrogate
    unsigned hex_ = 0;
    unsigned hex_digits_ = 0;
    Number number_ = Number::sign;
    std::string number_text_;
    std::string_view literal_; ///< remainder of true, false or null
};

/// Whether `text` is one JSON object, surrounded at most by white space. Raw control characters in strings
/// are errors here.
bool is_json_object(std::string_view text);

/// Appends a byte of scanned JSON; escapes a control character in a string.
void append_json_byte(std::string& json, char byte, JsonScanner::Phase phase_before);

/// Appends UTF-8 text, escaped for a JSON string, without quotes.
void append_json_text(std::string& json, std::string_view text);

std::string json_string(std::string_view text);

} // namespace etna::output
