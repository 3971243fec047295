#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Conversion of values in Python notation, or a similar one, to JSON.
namespace etna::output {

/// Finds the end of Field::keywords or Field::dictionary byte by byte; tracks only brackets and strings.
class NotationScanner {
public:
    static constexpr std::size_t max_depth = 256;

    /// `string_delimiter` delimits strings, and " too, with backslash escapes; empty: ' and " delimit them.
    explicit NotationScanner(std::string_view string_delimiter) : string_delimiter_(string_delimiter) {}

    enum class Step : uint8_t {
        inside,
        closed, ///< this byte closes the outermost bracket
        above,  ///< this byte closes a bracket opened before the text and is not part of it
        bad,
    };
    Step feed(char byte);

private:
    Step string_byte(char byte);
    void track_delimiter(char byte);

    std::string_view string_delimiter_;
    std::size_t delimiter_bytes_ = 0; ///< matched bytes of the marker
    std::string open_;                ///< closing brackets of the open ones
    char quote_ = 0;                  ///< 0: outside strings
    bool is_plain_ = false;           ///< the string is between quotes, not delimiters
    bool escaped_ = false;
};

/// Converts "city='Oslo', days=3" to {"city": "Oslo", "days": 3}. Returns nothing if the text is not a list
/// of keyword arguments with literal values.
std::optional<std::string> keywords_to_json(std::string_view text);

/// Converts a Python literal (string, number, True, False, None, list, tuple, dict); also accepts JSON's
/// spelling of the constants.
std::optional<std::string> literal_to_json(std::string_view text);

/// Converts {city:<marker>Oslo<marker>,days:3} to {"city": "Oslo", "days": 3}. A value without delimiters
/// that is not a literal is a string too.
std::optional<std::string> dictionary_to_json(std::string_view text, std::string_view string_delimiter);

} // namespace etna::output
