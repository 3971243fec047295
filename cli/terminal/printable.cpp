#include "cli/terminal/printable.hpp"

#include "cli/terminal/word_wrap.hpp"
#include "core/base/bytes.hpp"
#include "core/base/utf8.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// C0 and C1 of ISO 6429, DEL, and the embeddings, overrides and isolates of the Unicode Bidirectional
/// Algorithm.
bool controls_terminal(char32_t code_point) {
    return code_point < U' ' || (code_point >= 0x7f && code_point <= 0x9f) ||
           (code_point >= 0x202a && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069);
}

std::string escaped(std::string_view character, char32_t code_point) {
    if (code_point > 0x7f)
        return fmt::format("\\u{:04x}", static_cast<uint32_t>(code_point));
    std::string bytes;
    for (const char byte : character)
        bytes += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return bytes;
}

/// Replaces the characters that could control the terminal, and bytes that are not UTF-8. `shown` returns the
/// replacement of a character, from its bytes and its code point, which is 0 if the bytes are not UTF-8.
template <class Shown>
std::string replace_unsafe(std::string_view text, const Shown& shown) {
    std::string result;
    while (!text.empty()) {
        const Utf8Step step = next_utf8(text);
        const std::string_view character = text.substr(0, step.bytes);
        const char32_t code_point = step.kind == Utf8Kind::valid ? code_point_of(text, step.bytes) : U'\0';
        result += controls_terminal(code_point) ? shown(character, code_point) : std::string(character);
        text.remove_prefix(step.bytes);
    }
    return result;
}

} // namespace

std::string printable(std::string_view text) {
    return replace_unsafe(text, escaped);
}

std::string terminal_safe(std::string_view text) {
    return replace_unsafe(text, [](std::string_view character, char32_t code_point) {
        const bool lays_out = code_point == U'\n' || code_point == U'\t';
        return std::string(lays_out ? character : replacement_character);
    });
}

std::string cut(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max)
        return std::string(text);
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
    std::size_t end = bytes_max;
    while (end > 0 && continues(text[end]))
        --end;
    return fmt::format("{}...", text.substr(0, end));
}

std::string shell_quoted(std::string_view text) {
    std::string result = "'";
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

std::string backquoted(std::string_view text) {
    constexpr std::size_t quoted_bytes_max = 100;
    return fmt::format("`{}`", cut(text, quoted_bytes_max));
}

std::string size_text(uint64_t bytes) {
    const auto size = static_cast<double>(bytes);
    if (bytes < mebibyte)
        return fmt::format("{:.1f} KiB", size / static_cast<double>(kibibyte));
    if (bytes < gibibyte)
        return fmt::format("{:.1f} MiB", size / static_cast<double>(mebibyte));
    return fmt::format("{:.2f} GiB", size / static_cast<double>(gibibyte));
}

std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       std::initializer_list<std::size_t> right_aligned) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool is_right = std::ranges::find(right_aligned, i) != right_aligned.end();
            line += i == 0 ? "" : "  ";
            const std::string padding(widths[i] - width_of(row[i]), ' ');
            line += is_right ? padding + row[i] : row[i] + padding;
        }
        line.resize(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

} // namespace etna::cli
