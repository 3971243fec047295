#include "cli/config_file.hpp"

#include "cli/quote.hpp"
#include "cli/toml.hpp"
#include "core/base/bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::cli {
namespace {

constexpr std::size_t config_bytes_max = mebibyte;

struct Descriptor {
    int number;
    explicit Descriptor(int opened) : number(opened) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number >= 0)
            ::close(number);
    }
};

/// The whole file; empty where there is none.
Result<std::optional<std::string>> read_file(const std::filesystem::path& path) {
    const auto refused = [&](std::string_view why) {
        return Error{ErrorKind::io,
                     fmt::format("cannot read the configuration file {}: {}", path.string(), why)};
    };
    // A pipe without a writer would block the call.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
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
        return refused(fmt::format("it is longer than {} MiB", config_bytes_max / mebibyte));
    text.resize(size);
    return std::optional(std::move(text));
}

bool takes(Kind kind, toml::ScalarKind found) {
    switch (kind) {
    case Kind::flag:
        return found == toml::ScalarKind::boolean;
    case Kind::integer:
        return found == toml::ScalarKind::integer;
    case Kind::number:
        return found == toml::ScalarKind::integer || found == toml::ScalarKind::number;
    case Kind::size:
        return found == toml::ScalarKind::integer || found == toml::ScalarKind::string;
    case Kind::text:
    case Kind::choice:
        return found == toml::ScalarKind::string;
    }
    return false;
}

std::string_view wanted(const Option& option) {
    switch (option.kind) {
    case Kind::flag:
        return "true or false";
    case Kind::integer:
        return "a whole number";
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

Status check_kind(const Option& option, const toml::Item& item, std::string_view place) {
    const bool fits = item.form == toml::Form::scalar || option.repeat == Repeat::collect;
    if (fits && std::all_of(item.values.begin(), item.values.end(),
                            [&](const toml::Scalar& value) { return takes(option.kind, value.kind); })) {
        return {};
    }
    return Error{ErrorKind::invalid_argument,
                 fmt::format("{}: {}: {} is expected", place, option.name, wanted(option))};
}

/// Keys at the top of the configuration file are for every command that has the option.
bool is_anothers(const std::string& name) {
    return std::any_of(commands().begin(), commands().end(), [&](const Command& command) {
        const Option* option = find_option(command, name);
        return option != nullptr && has_environment_name(*option);
    });
}

} // namespace

Status add_config_file(const Command& command, const std::filesystem::path& path, TypedArguments& arguments) {
    if (path.empty())
        return {};
    ETNA_TRY(const auto text, read_file(path));
    if (!text)
        return {};
    ETNA_TRY(const auto items, toml::read(*text, path.string()));
    TypedArguments at_top;
    TypedArguments in_section;
    for (const toml::Item& item : items) {
        const bool is_section = item.path.size() == 2;
        if (item.path.size() > 1 && item.path.front() != command.name)
            continue; // another command's section
        const std::string& key = item.path.back();
        const Option* option = find_option(command, key);
        if (option == nullptr && item.path.size() == 1 && is_anothers(key))
            continue;
        if (option == nullptr || item.path.size() > 2 || !has_environment_name(*option)) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{}:{}: unknown key {}", path.string(), item.line, backquoted(key)),
                         fmt::format("keys are the long options of `etna {}` without dashes", command.name)};
        }
        ETNA_CHECK(check_kind(*option, item, fmt::format("{}:{}", path.string(), item.line)));
        auto& values = (is_section ? in_section : at_top).options[key];
        const std::string origin = fmt::format("{}:{}: {}", path.filename().string(), item.line, key);
        for (const toml::Scalar& value : item.values)
            values.push_back({value.text, origin});
    }
    for (TypedArguments* found : {&in_section, &at_top}) { // those that are already there stay
        for (auto& [name, values] : found->options)
            arguments.options.emplace(name, std::move(values));
    }
    return {};
}

} // namespace etna::cli
