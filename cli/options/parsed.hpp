#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace etna::cli {

/// Parses all of `text` as a number; empty if anything is left over or the number does not fit.
template <class Number>
std::optional<Number> parsed(std::string_view text) {
    Number number{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

} // namespace etna::cli
