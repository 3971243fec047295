#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Values that models write in Python's notation, or one like it, as JSON.
namespace etna::chat::output {

/// Finds the end of Slot::keywords or Slot::dictionary byte by byte: brackets and strings are all it knows.
class NotationScanner {
public:
    static constexpr std::size_t max_depth = 256;

    /// `string_mark`: stands around strings; empty: ' and " do, with backslash escapes.
    explicit NotationScanner(std::string_view string_mark) : string_mark_(string_mark) {}

    enum class Step : uint8_t {
        inside,
        closed, ///< the bracket that was open first is closed by this byte
        above,  ///< this byte closes a bracket that was open before, and does not belong to the text
        bad,
    };
    Step feed(char byte);

private:
    Step string_byte(char byte);
    void count_mark(char byte);

    std::string_view string_mark_;
    std::size_t mark_bytes_ = 0; ///< how much of the mark has come
    std::string open_;           ///< brackets
    char quote_ = 0;             ///< 0: outside of strings
    bool escaped_ = false;
};

/// "city='Oslo', days=3" to {"city": "Oslo", "days": 3}. Nothing: it is no list of keyword arguments with
/// literal values.
std::optional<std::string> keywords_to_json(std::string_view text);

/// A Python literal (string, number, True, False, None, list, tuple, dict), or the same with JSON's words.
std::optional<std::string> literal_to_json(std::string_view text);

/// {city:<mark>Oslo<mark>,days:3} to {"city": "Oslo", "days": 3}.
std::optional<std::string> dictionary_to_json(std::string_view text, std::string_view string_mark);

} // namespace etna::chat::output
