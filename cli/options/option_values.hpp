#pragma once

#include "cli/options/command_line.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

/// Second stage: validates the typed values. Every error is invalid_argument and names the origin, the value
/// and the allowed values.
class OptionValues {
public:
    /// Both are borrowed.
    OptionValues(const Command& command, const TypedArguments& arguments)
        : command_(&command), arguments_(&arguments) {}

    /// Empty if the option is absent. Preconditions: the command has the option, of that kind.
    [[nodiscard]] Result<std::optional<uint32_t>> integer(std::string_view name) const;
    [[nodiscard]] Result<std::vector<uint32_t>> integers(std::string_view name) const; ///< every one counts
    [[nodiscard]] Result<std::optional<int32_t>> signed_integer(std::string_view name) const;
    /// Any 64-bit value.
    [[nodiscard]] Result<std::optional<int64_t>> long_integer(std::string_view name) const;
    [[nodiscard]] Result<std::optional<float>> number(std::string_view name) const;
    [[nodiscard]] Result<std::optional<uint64_t>> size_bytes(std::string_view name) const;
    [[nodiscard]] Result<std::optional<std::string>> choice(std::string_view name) const;
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
    [[nodiscard]] std::vector<TypedValue> texts(std::string_view name) const;

    /// False when absent.
    [[nodiscard]] Result<bool> flag(std::string_view name) const;

private:
    [[nodiscard]] const TypedValue* find(std::string_view name) const;
    [[nodiscard]] const Option& option(std::string_view name) const;

    const Command* command_;
    const TypedArguments* arguments_;
};

} // namespace etna::cli
