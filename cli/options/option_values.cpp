#include "cli/options/option_values.hpp"

#include "cli/terminal/printable.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

bool is_whole(std::string_view text) {
    if (text.starts_with('-'))
        text.remove_prefix(1);
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Parses digits and a unit; a value beyond 64 bits becomes the largest number, which is outside every range.
std::optional<uint64_t> parsed_size(std::string_view text) {
    constexpr std::string_view units = "KMGT";
    constexpr uint32_t unit_bits = 10;
    for (const std::string_view ending : {"iB", "B"}) {
        if (text.ends_with(ending)) {
            text.remove_suffix(ending.size());
            break;
        }
    }
    uint32_t shift = 0;
    if (!text.empty()) {
        const char last = text.back() >= 'a' ? static_cast<char>(text.back() - 'a' + 'A') : text.back();
        if (const std::size_t unit = units.find(last); unit != std::string_view::npos) {
            shift = unit_bits * (static_cast<uint32_t>(unit) + 1);
            text.remove_suffix(1);
        }
    }
    if (!is_whole(text) || text.starts_with('-'))
        return std::nullopt;
    constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
    const auto count = parsed<uint64_t>(text);
    return count && *count <= (most >> shift) ? *count << shift : most;
}

bool contains(const Range& range, double value) {
    return (range.lower == LowerBound::exclusive ? value > range.min : value >= range.min) &&
           value <= range.max;
}

Error refused(const TypedValue& value, std::string_view allowed) {
    return {ErrorKind::invalid_argument,
            fmt::format("{}: {} is not {}", value.origin, backquoted(value.text), allowed)};
}

/// Returns the error for a number outside the option's range.
Error out_of_range(const TypedValue& value, const Option& option) {
    return {ErrorKind::invalid_argument,
            fmt::format("{}: {} is out of range: {}", value.origin, backquoted(value.text),
                        describe(option.range, option.kind))};
}

/// Returns the error for a refused number: "a number (0 to 1)".
Error refused(const TypedValue& value, std::string_view what, const Option& option) {
    return refused(value, fmt::format("{} ({})", what, describe(option.range, option.kind)));
}

Result<uint32_t> whole_number(const TypedValue& value, const Option& option) {
    if (!is_whole(value.text))
        return refused(value, "a whole number", option);
    const auto number = parsed<uint64_t>(value.text);
    if (!number || !contains(option.range, static_cast<double>(*number)))
        return out_of_range(value, option);
    return static_cast<uint32_t>(*number); // every integer range fits into 32 bits
}

} // namespace

const Option& OptionValues::option(std::string_view name) const {
    const Option* found = find_option(*command_, name);
    assert(found != nullptr);
    return *found;
}

const TypedValue* OptionValues::find(std::string_view name) const {
    const std::string_view absence = option(name).absence;
    const auto found = arguments_->options.find(name);
    if (found == arguments_->options.end() || found->second.empty())
        return nullptr;
    const TypedValue& value = found->second.back();
    return !absence.empty() && value.text == absence ? nullptr : &value;
}

Result<std::optional<uint32_t>> OptionValues::integer(std::string_view name) const {
    const TypedValue* value = find(name);
    if (value == nullptr)
        return std::optional<uint32_t>();
    ETNA_TRY(const uint32_t number, whole_number(*value, option(name)));
    return std::optional(number);
}

Result<std::vector<uint32_t>> OptionValues::integers(std::string_view name) const {
    std::vector<uint32_t> numbers;
    for (const TypedValue& value : texts(name)) {
        ETNA_TRY(const uint32_t number, whole_number(value, option(name)));
        numbers.push_back(number);
    }
    return numbers;
}

Result<std::optional<int32_t>> OptionValues::signed_integer(std::string_view name) const {
    ETNA_TRY(const auto number, long_integer(name));
    return number ? std::optional(static_cast<int32_t>(*number))
                  : std::nullopt; // each such range has 32 bits
}

Result<std::optional<int64_t>> OptionValues::long_integer(std::string_view name) const {
    const TypedValue* value = find(name);
    if (value == nullptr)
        return std::optional<int64_t>();
    if (!is_whole(value->text))
        return refused(*value, "a whole number", option(name));
    const auto number = parsed<int64_t>(value->text);
    if (!number || !contains(option(name).range, static_cast<double>(*number)))
        return out_of_range(*value, option(name));
    return number;
}

Result<std::optional<float>> OptionValues::number(std::string_view name) const {
    const TypedValue* value = find(name);
    if (value == nullptr)
        return std::optional<float>();
    double number = 0;
    const char* text_end = value->text.data() + value->text.size();
    const auto [end, failure] = std::from_chars(value->text.data(), text_end, number);
    if (failure == std::errc::invalid_argument || end != text_end || !std::isfinite(number))
        return refused(*value, "a number", option(name));
    if (failure != std::errc() || !contains(option(name).range, number) ||
        !contains(option(name).range, static_cast<float>(number)))
        return out_of_range(*value, option(name));
    return std::optional(static_cast<float>(number));
}

Result<std::optional<uint64_t>> OptionValues::size_bytes(std::string_view name) const {
    const TypedValue* value = find(name);
    if (value == nullptr)
        return std::optional<uint64_t>();
    const auto bytes = parsed_size(value->text);
    if (!bytes)
        return refused(*value, "a size such as 512M or 2G", option(name));
    if (!contains(option(name).range, static_cast<double>(*bytes)))
        return out_of_range(*value, option(name));
    return bytes;
}

Result<std::optional<std::string>> OptionValues::choice(std::string_view name) const {
    const TypedValue* value = find(name);
    if (value == nullptr)
        return std::optional<std::string>();
    const auto& choices = option(name).choices;
    if (std::find(choices.begin(), choices.end(), value->text) == choices.end())
        return refused(*value, fmt::format("one of {}", fmt::join(choices, ", ")));
    return std::optional(value->text);
}

std::optional<std::string> OptionValues::text(std::string_view name) const {
    const TypedValue* value = find(name);
    return value == nullptr ? std::nullopt : std::optional(value->text);
}

std::vector<TypedValue> OptionValues::texts(std::string_view name) const {
    const auto found = arguments_->options.find(name);
    return found == arguments_->options.end() ? std::vector<TypedValue>() : found->second;
}

Result<bool> OptionValues::flag(std::string_view name) const {
    constexpr std::array<std::string_view, 4> yes = {"true", "1", "yes", "on"};
    constexpr std::array<std::string_view, 4> no = {"false", "0", "no", "off"};
    const TypedValue* value = find(name);
    if (value == nullptr)
        return false;
    if (std::find(yes.begin(), yes.end(), value->text) != yes.end())
        return true;
    if (std::find(no.begin(), no.end(), value->text) != no.end())
        return false;
    return refused(*value, "true or false");
}

} // namespace etna::cli
