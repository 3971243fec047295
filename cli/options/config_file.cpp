#include "cli/options/config_file.hpp"

#include "cli/terminal/printable.hpp"
#include "core/base/bytes.hpp"
#include "core/base/near_names.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

// toml++ 3.3 asserts, or with NDEBUG assumes, a condition that "[[[" violates; without the assertion it
// reports an error.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace etna::cli {
namespace {

constexpr std::size_t problem_bytes_max = 200; // toml++ repeats keys of any length

struct OpenFile {
    int number;
    explicit OpenFile(int opened) : number(opened) {}
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() {
        if (number >= 0)
            ::close(number);
    }
};

/// Reads the complete file; empty if it does not exist.
Result<std::optional<std::string>> read_file(const std::filesystem::path& path) {
    const auto refused = [&](std::string_view why) {
        return Error{ErrorKind::io,
                     fmt::format("cannot read the configuration file {}: {}", path.string(), why)};
    };
    // A pipe without a writer would block the call.
    const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.number < 0 && (errno == ENOENT || errno == ENOTDIR))
        return std::optional<std::string>();
    struct stat status{};
    if (file.number < 0 || ::fstat(file.number, &status) != 0)
        return refused(std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        return refused("it is not a regular file");
    std::string text(config_bytes_max + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count = ::read(file.number, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return refused(std::strerror(errno));
        if (count == 0)
            break;
        size += static_cast<std::size_t>(count);
    }
    if (size > config_bytes_max)
        return refused(fmt::format("it is longer than {} KiB", config_bytes_max / kibibyte));
    text.resize(size);
    return std::optional(std::move(text));
}

/// Returns a scalar as it would be typed; empty if `kind` does not accept it.
std::optional<std::string> typed(Kind kind, const toml::node& value) {
    const bool takes_text_value = kind == Kind::text || kind == Kind::choice;
    if (const auto* boolean = value.as_boolean(); boolean != nullptr && kind == Kind::flag)
        return boolean->get() ? "true" : "false";
    if (const auto* text = value.as_string(); text != nullptr && (takes_text_value || kind == Kind::size))
        return text->get();
    if (const auto* whole = value.as_integer(); whole != nullptr && !takes_text_value && kind != Kind::flag)
        return fmt::to_string(whole->get());
    if (const auto* number = value.as_floating_point(); number != nullptr && kind == Kind::number)
        return fmt::to_string(number->get());
    return std::nullopt;
}

std::string_view expected_value(const Option& option) {
    switch (option.kind) {
    case Kind::flag:
        return "true or false";
    case Kind::integer:
        return option.repeat == Repeat::collect ? "a whole number, or an array of them" : "a whole number";
    case Kind::number:
        return "a number";
    case Kind::size:
        return "a size in bytes, or in quotes with its unit: \"512M\"";
    case Kind::text:
    case Kind::choice:
        return option.repeat == Repeat::collect ? "text in quotes, or an array of it" : "text in quotes";
    }
    return "";
}

/// Returns whether the option of any command may only be typed, as --yes.
bool is_only_typed(std::string_view name) {
    return std::any_of(commands().begin(), commands().end(), [&](const Command& command) {
        const Option* option = find_option(command, name);
        return option != nullptr && option->settable == Settable::command_line;
    });
}

/// Returns the keys of the commands, each once.
std::vector<std::string> settable_names(std::span<const Command> of) {
    std::set<std::string> names;
    for (const Command& command : of) {
        for (const Option& option : command.options) {
            if (has_environment_name(option) && option.visibility == Visibility::shown)
                names.emplace(option.name);
        }
    }
    return {names.begin(), names.end()};
}

/// Reads the values of one TOML table for one command.
class Section {
public:
    Section(const Command& command, const std::filesystem::path& path) : command_(command), path_(path) {}

    Status add(std::string_view key, const toml::node& node, TypedArguments& arguments) const {
        const Option* option = find_option(command_, key);
        if (is_only_typed(key)) {
            return invalid_argument(
                fmt::format("{}: {}: only the command line can set it", location(node), key),
                fmt::format("remove the line, and type --{} with each command that needs it", key));
        }
        if (option == nullptr || !has_environment_name(*option)) {
            return unknown_key(key, location(node));
        }
        const std::string origin =
            fmt::format("{}:{}: {}", path_.filename().string(), node.source().begin.line, key);
        std::vector<TypedValue> values;
        const auto add_scalar = [&](const toml::node& scalar) {
            auto text = typed(option->kind, scalar);
            if (text)
                values.push_back({std::move(*text), origin});
            return text.has_value();
        };
        const toml::array* list = option->repeat == Repeat::collect ? node.as_array() : nullptr;
        const bool fits =
            list != nullptr ? std::all_of(list->begin(), list->end(), add_scalar) : add_scalar(node);
        if (!fits) {
            return invalid_argument(
                fmt::format("{}: {}: {} is expected", location(node), key, expected_value(*option)));
        }
        arguments.options.emplace(key, std::move(values)); // an existing value takes precedence
        return {};
    }

private:
    [[nodiscard]] Error unknown_key(std::string_view key, const std::string& location) const {
        auto near = near_names(key, settable_names({&command_, 1}));
        if (near.empty())
            near = near_names(key, settable_names(commands()));
        return {ErrorKind::invalid_argument, fmt::format("{}: unknown key {}", location, backquoted(key)),
                near.empty()
                    ? fmt::format("keys are the long options of `etna {}` without dashes", command_.name)
                    : fmt::format("did you mean {}?", fmt::join(near, " or "))};
    }

    [[nodiscard]] std::string location(const toml::node& node) const {
        return fmt::format("{}:{}", path_.string(), node.source().begin.line);
    }

    const Command& command_;
    const std::filesystem::path& path_;
};

/// Returns whether any command has the option: top-level keys apply to every command that has it.
bool belongs_to_other_command(std::string_view name) {
    return std::any_of(commands().begin(), commands().end(), [&](const Command& command) {
        const Option* option = find_option(command, name);
        return option != nullptr && has_environment_name(*option);
    });
}

bool is_command(std::string_view name) {
    return std::any_of(commands().begin(), commands().end(),
                       [name](const Command& command) { return command.name == name; });
}

/// Without this error, a misspelt section, of a key for instance, would leave a server open.
Error unknown_section(std::string_view name, const std::string& location) {
    std::vector<std::string> known;
    for (const Command& command : commands()) {
        if (command.visibility == Visibility::shown)
            known.emplace_back(command.name);
    }
    const auto near = near_names(std::string(name), known);
    return invalid_argument(fmt::format("{}: unknown section {}", location, backquoted(name)),
                            near.empty() ? "sections are the names of commands, such as [run] and [serve]"
                                         : fmt::format("did you mean [{}]?", fmt::join(near, "] or [")));
}

} // namespace

Status add_config(const Command& command, std::string_view text, const std::filesystem::path& path,
                  TypedArguments& arguments) {
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        const toml::parse_error& error = parsed.error();
        return invalid_argument(fmt::format("{}:{}: {}", path.string(), error.source().begin.line,
                                            cut(error.description(), problem_bytes_max)));
    }
    const Section section(command, path);
    if (const toml::table* own = parsed[command.name].as_table()) {
        for (const auto& [key, node] : *own)
            ETNA_CHECK(section.add(key.str(), node, arguments));
    }
    for (const auto& [key, node] : parsed.table()) {
        const bool is_own = find_option(command, key.str()) != nullptr;
        const bool is_section_of_other_command = node.is_table() && !is_own;
        if (is_section_of_other_command && !is_command(key.str()))
            return unknown_section(key.str(), fmt::format("{}:{}", path.string(), node.source().begin.line));
        if (!is_section_of_other_command && (is_own || !belongs_to_other_command(key.str())))
            ETNA_CHECK(section.add(key.str(), node, arguments));
    }
    return {};
}

Status add_config_file(const Command& command, const std::filesystem::path& path, TypedArguments& arguments) {
    if (path.empty())
        return {};
    ETNA_TRY(const auto text, read_file(path));
    return text ? add_config(command, *text, path, arguments) : Status();
}

} // namespace etna::cli
