#include "cli/terminal/quote.hpp"

#include <fmt/format.h>

namespace etna::cli {

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

} // namespace etna::cli
