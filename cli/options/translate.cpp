#include "cli/options/translate.hpp"

#include "cli/terminal/quote.hpp"
#include "core/store/near_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

bool is_named(const ForeignOption& option, std::string_view typed) {
    std::string_view names = option.names;
    while (!names.empty()) {
        const std::size_t end = names.find(", ");
        if (names.substr(0, end) == typed)
            return true;
        names.remove_prefix(end == std::string_view::npos ? names.size() : end + 2);
    }
    return false;
}

const ForeignOption* find_foreign(const Command& command, std::string_view typed) {
    const auto found = std::find_if(command.foreign.begin(), command.foreign.end(),
                                    [&](const ForeignOption& option) { return is_named(option, typed); });
    return found == command.foreign.end() ? nullptr : &*found;
}

bool is_switch(std::string_view text) {
    constexpr std::array<std::string_view, 5> positions = {"on", "off", "auto", "1", "0"};
    return std::find(positions.begin(), positions.end(), text) != positions.end();
}

bool may_be_number(std::string_view text) {
    return (text.front() >= '0' && text.front() <= '9') ||
           std::string_view("-.=").find(text.front()) != std::string_view::npos;
}

/// Returns the option with this short name; null if there is none.
const Option* find_short(const Command& command, char letter) {
    const auto found = std::find_if(command.options.begin(), command.options.end(),
                                    [letter](const Option& option) { return option.short_name == letter; });
    return found == command.options.end() ? nullptr : &*found;
}

/// An environment variable or the configuration file may have set a flag, so omitting it is not enough.
Error cannot_be_negated(const Option& option) {
    return {ErrorKind::invalid_argument, fmt::format("--{} cannot be negated", option.name),
            option.kind == Kind::flag ? fmt::format("--{}=false turns it off", option.name)
                                      : fmt::format("leave --{} out", option.name)};
}

/// Translates a command line argument by argument.
class Translator {
public:
    Translator(const Command& command, std::span<const std::string> arguments)
        : command_(command), arguments_(arguments) {}

    Result<Translated> run() {
        while (at_ < arguments_.size() && arguments_[at_] != "--") {
            const std::string& argument = arguments_[at_++];
            const std::string name = argument.substr(0, argument.find('='));
            const ForeignOption* foreign = find_foreign(command_, name);
            ETNA_CHECK(foreign != nullptr ? take(*foreign, name, argument) : copy(argument));
        }
        const auto rest = arguments_.subspan(at_);
        result_.arguments.insert(result_.arguments.end(), rest.begin(), rest.end());
        return std::move(result_);
    }

private:
    Status take(const ForeignOption& foreign, const std::string& name, const std::string& argument) {
        if (foreign.meaning == ForeignMeaning::missing) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{} is not an option of `etna {}`", name, command_.name),
                         std::string(foreign.hint)};
        }
        ETNA_TRY(std::string value, value_of(foreign, name, argument));
        if (foreign.meaning == ForeignMeaning::no_effect) {
            result_.notes.push_back(fmt::format("{} is ignored; {}", name, foreign.hint));
            return {};
        }
        const Option* option = find_option(command_, foreign.ours);
        if (option == nullptr) {
            result_.positionals[std::string(foreign.ours)].push_back(std::move(value));
        } else if (option->kind == Kind::flag) {
            result_.arguments.push_back(fmt::format("--{}={}", option->name, value));
        } else {
            result_.arguments.push_back(fmt::format("--{}", option->name));
            result_.arguments.push_back(std::move(value));
        }
        return {};
    }

    Result<std::string> value_of(const ForeignOption& foreign, const std::string& name,
                                 const std::string& argument) {
        if (foreign.value == ForeignValue::none)
            return std::string(foreign.fixed);
        if (argument.size() > name.size())
            return argument.substr(name.size() + 1);
        if (at_ < arguments_.size() && (foreign.value == ForeignValue::one || is_switch(arguments_[at_])))
            return arguments_[at_++];
        if (foreign.value == ForeignValue::perhaps_switch)
            return std::string();
        return needs_value(name);
    }

    /// Copies an argument that is not another program's option, with the value that follows it.
    Status copy(const std::string& argument) {
        if (argument.starts_with("--"))
            return copy_long(argument);
        if (argument.starts_with('-') && argument.size() > 1)
            return copy_short(argument);
        result_.arguments.push_back(argument);
        return {};
    }

    Status copy_long(const std::string& argument) {
        result_.arguments.push_back(argument);
        const std::size_t equals = argument.find('=');
        const Option* option = find_option(command_, std::string_view(argument).substr(0, equals).substr(2));
        if (option == nullptr || option->kind == Kind::flag || equals < argument.size() - 1)
            return {};
        // CLI11 would take the next argument as the value of `--seed=`.
        if (equals != std::string::npos || at_ == arguments_.size())
            return needs_value(fmt::format("--{}", option->name));
        result_.arguments.push_back(arguments_[at_++]);
        return {};
    }

    /// Rewrites "-n 5", "-n5" and "-vn5" with long names, because CLI11 2.4 and later treat `-n` and `--n` as
    /// one name.
    Status copy_short(const std::string& argument) {
        std::string_view letters = std::string_view(argument).substr(1);
        const Option* option = nullptr;
        std::vector<std::string> flags;
        for (; !letters.empty(); flags.push_back(fmt::format("--{}", option->name))) {
            option = find_short(command_, letters.front());
            if (option == nullptr || option->kind != Kind::flag)
                break;
            letters.remove_prefix(1);
        }
        if (!flags.empty() && letters.starts_with('=')) { // -v=false
            flags.back() += letters;
            letters = {};
        }
        auto& arguments = result_.arguments;
        arguments.insert(arguments.end(), flags.begin(), flags.end());
        if (letters.empty())
            return {};
        if (option == nullptr) {
            arguments.push_back(fmt::format("-{}", letters));
            return {};
        }
        letters.remove_prefix(1);
        // A multi-letter option of another program is not a short option followed by its value.
        if (!letters.empty() && option->kind != Kind::text && option->kind != Kind::choice &&
            !may_be_number(letters))
            return unknown_option(command_, argument);
        if (letters.empty() && at_ == arguments_.size())
            return needs_value(fmt::format("--{}", option->name));
        arguments.push_back(fmt::format("--{}", option->name));
        arguments.push_back(letters.empty() ? arguments_[at_++] : std::string(letters));
        return {};
    }

    [[nodiscard]] Error needs_value(const std::string& name) const {
        return {ErrorKind::invalid_argument, fmt::format("{} needs a value", name), help_hint(command_)};
    }

    const Command& command_;
    std::span<const std::string> arguments_;
    std::size_t at_ = 0; ///< the next argument
    Translated result_;
};

} // namespace

Result<Translated> translate(const Command& command, std::span<const std::string> arguments) {
    return Translator(command, arguments).run();
}

std::string help_hint(const Command& command) {
    return fmt::format("try `etna {} --help`", command.name);
}

Error unknown_option(const Command& command, const std::string& typed) {
    constexpr std::string_view negation = "--no-";
    const std::string name = typed.substr(0, typed.find('='));
    if (name.starts_with(negation)) {
        const std::string_view negated = std::string_view(name).substr(negation.size());
        const Option* option = find_option(command, negated);
        if (option != nullptr && option->visibility == Visibility::shown)
            return cannot_be_negated(*option);
    }
    std::vector<std::string> known;
    for (const Option& option : command.options) {
        if (option.visibility == Visibility::shown)
            known.push_back(fmt::format("--{}", option.name));
    }
    std::string hint = help_hint(command);
    auto near = store::near_names(name, known);
    if (!near.empty() && store::edit_distance(name, near.front()) == 1) // a single edit is unambiguous
        std::erase_if(near, [&](const std::string& one) { return store::edit_distance(name, one) > 1; });
    if (!near.empty()) {
        hint = fmt::format("did you mean `{}`?", fmt::join(near, "` or `"));
    } else if (!command.positionals.empty()) {
        hint += "; an argument that begins with a dash goes after `--`";
    }
    return {ErrorKind::invalid_argument, fmt::format("unknown option {}", backquoted(name)), hint};
}

} // namespace etna::cli
