#include "cli/chat/complete.hpp"

#include "cli/chat/commands.hpp"
#include "cli/folders.hpp"
#include "cli/terminal/printable.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace etna::cli {
namespace {

bool takes_path(std::string_view name) {
    const auto commands = chat_commands();
    return std::any_of(commands.begin(), commands.end(), [&](const ChatCommand& each) {
        const bool is_path = each.argument == "PATH" || each.argument == "FILE" || each.argument == "NAME";
        return each.name == name && is_path;
    });
}

/// Returns the start of the word that may be a file name. Precondition: the line has a space.
std::size_t file_begin(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (is_chat_command(line) && takes_path(line.substr(0, space)))
        return std::min(line.find_first_not_of(' ', space), line.size());
    return line.find_last_of(" \t\n") + 1;
}

std::vector<std::string> files_like(std::string_view typed, const Variables& variables) {
    const std::size_t name_begin = typed.rfind('/') + 1; // 0 if there is no slash
    const std::string folder(typed.substr(0, name_begin));
    const std::string_view begun = typed.substr(name_begin);
    std::vector<std::string> words;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder.empty() ? "." : expand_home(folder, variables), failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        const std::string name = entry->path().filename().string();
        const bool is_hidden = name.starts_with('.') && begun.empty();
        const bool can_be_typed = printable(name) == name;
        if (!name.starts_with(begun) || is_hidden || !can_be_typed)
            continue;
        std::error_code unknown;
        words.push_back(folder + name + (entry->is_directory(unknown) ? "/" : ""));
    }
    std::sort(words.begin(), words.end());
    return words;
}

} // namespace

LineCompletion complete_chat_line(std::string_view line, const Variables& variables) {
    LineCompletion completion;
    if (line.find_first_of(" \n") != std::string_view::npos) {
        completion.begin = file_begin(line);
        completion.words = files_like(line.substr(completion.begin), variables);
        return completion;
    }
    for (const ChatCommand& command : chat_commands()) {
        if (command.name.starts_with(line))
            completion.words.emplace_back(command.name);
    }
    return completion;
}

} // namespace etna::cli
