#include "cli/terminal/printable.hpp"

#include "core/base/utf8.hpp"

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// C0 and C1 of ISO 6429, DEL, and the embeddings, overrides and isolates of the Unicode Bidirectional
/// Algorithm.
bool steers_terminal(char32_t letter) {
    return letter < U' ' || (letter >= 0x7f && letter <= 0x9f) || (letter >= 0x202a && letter <= 0x202e) ||
           (letter >= 0x2066 && letter <= 0x2069);
}

std::string escaped(std::string_view character, char32_t letter) {
    if (letter > 0x7f)
        return fmt::format("\\u{:04x}", static_cast<uint32_t>(letter));
    std::string bytes;
    for (const char byte : character)
        bytes += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return bytes;
}

/// `shown` says what comes of a character that is no good: its bytes and its code point, 0 where it is no
/// UTF-8.
template <class Shown>
std::string each_good(std::string_view text, const Shown& shown) {
    std::string result;
    while (!text.empty()) {
        const Utf8Step step = next_utf8(text);
        const std::string_view character = text.substr(0, step.bytes);
        const char32_t letter = step.kind == Utf8Kind::valid ? code_point_of(text, step.bytes) : U'\0';
        result += steers_terminal(letter) ? shown(character, letter) : std::string(character);
        text.remove_prefix(step.bytes);
    }
    return result;
}

} // namespace

std::string printable(std::string_view text) {
    return each_good(text, escaped);
}

std::string harmless(std::string_view text) {
    return each_good(text, [](std::string_view character, char32_t letter) {
        const bool lays_out = letter == U'\n' || letter == U'\t';
        return std::string(lays_out ? character : replacement_character);
    });
}

} // namespace etna::cli
