#include "cli/options/option_table.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr std::array global = {
    help_option,
    Option{.name = "version",
           .short_name = 'V',
           .description = "print the version and exit",
           .category = Category::help},
};

constexpr std::array codes = {
    ExitCodeText{0, "success, also if the reader of a pipe closed it"},
    ExitCodeText{
        1,
        "failure of the model, the device or the output, or of a turn or a command of a chat through a pipe"},
    ExitCodeText{2, "usage error: the command line, the environment or the configuration file is wrong"},
    ExitCodeText{129, "an answer or a chat was ended by SIGHUP"},
    ExitCodeText{130, "interrupted by Ctrl-C"},
    ExitCodeText{143, "an answer or a chat was ended by SIGTERM"},
};

/// Formats a bound in the largest unit that divides it.
std::string bound_text(double bytes) {
    constexpr uint64_t step = 1024;
    auto count = static_cast<uint64_t>(bytes);
    std::string unit;
    for (const char next : {'K', 'M', 'G', 'T'}) {
        if (count == 0 || count % step != 0)
            break;
        count /= step;
        unit = next;
    }
    return fmt::format("{}{}", count, unit);
}

} // namespace

std::string_view title(Category category) {
    constexpr std::array<std::string_view, 7> titles = {
        "Generation", "Sampling", "Models", "Device and memory", "Server", "Output", "Help"};
    return titles[static_cast<std::size_t>(category)];
}

std::vector<Option> joined(std::initializer_list<std::span<const Option>> lists) {
    std::vector<Option> all;
    for (const std::span<const Option> list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

std::span<const Option> global_options() {
    return global;
}

std::span<const ExitCodeText> exit_codes() {
    return codes;
}

std::vector<ExitCodeText> all_exit_codes() {
    std::vector<ExitCodeText> all(codes.begin(), codes.end());
    for (const Command& command : commands())
        all.insert(all.end(), command.exit_codes.begin(), command.exit_codes.end());
    std::ranges::sort(all, {}, &ExitCodeText::code);
    return all;
}

std::vector<ExitCodeText> exit_codes_of(const Command& command) {
    std::vector<ExitCodeText> all(codes.begin(), codes.end());
    all.insert(all.end(), command.exit_codes.begin(), command.exit_codes.end());
    std::ranges::sort(all, {}, &ExitCodeText::code);
    return all;
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands()) {
        if (command.name == name)
            return &command;
    }
    return nullptr;
}

const Option* find_option(const Command& command, std::string_view name) {
    for (const Option& option : command.options) {
        if (option.name == name)
            return &option;
    }
    return nullptr;
}

std::string environment_name(const Option& option) {
    std::string name = "ETNA_";
    for (const char c : option.name)
        name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return name;
}

bool has_environment_name(const Option& option) {
    return option.category != Category::help && option.settable == Settable::anywhere;
}

bool has_settings(const Command& command) {
    return std::any_of(command.options.begin(), command.options.end(),
                       [](const Option& option) { return option.category != Category::help; });
}

std::string describe(const Range& range, Kind kind) {
    if (kind != Kind::integer && kind != Kind::number && kind != Kind::size)
        return {};
    if (kind == Kind::size)
        return fmt::format("{} to {}", bound_text(range.min), bound_text(range.max));
    if (range.lower == LowerBound::exclusive)
        return fmt::format("more than {}, up to {}", range.min, range.max);
    if (kind == Kind::integer && range.max == int64_range.max)
        return "64 bits with a sign"; // instead of 19-digit bounds
    return fmt::format("{:.0f} to {:.0f}", range.min, range.max);
}

} // namespace etna::cli
