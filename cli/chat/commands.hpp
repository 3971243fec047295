#pragma once

#include "cli/chat/edit_reader.hpp"
#include "cli/chat/session.hpp"
#include "cli/chat/settings.hpp"
#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace etna::cli {

/// The state that chat commands such as "/undo" operate on; all borrowed.
struct ChatState {
    ChatSession& session;
    ChatSettings& settings;
    ModelOptions& model;
    const Environment& environment;
    Diagnostics& diagnostics;
    std::size_t failed_commands = 0;
};

enum class ChatStep : uint8_t {
    proceed,
    answered, ///< continue; there is a new answer
    leave,
};

struct ChatCommand {
    std::string_view name;     ///< with its slash, as are `other_names`
    std::string_view argument; ///< placeholder in help; empty: no argument
    std::string_view summary;
    Result<ChatStep> (*run)(ChatState& state, const std::string& argument);
    std::array<std::string_view, 2> other_names = {}; ///< aliases from other programs' chats; empty: none
};

std::span<const ChatCommand> chat_commands();

/// Returns whether the message is a chat command: one line that begins with a slash and a character, or /?.
bool is_chat_command(std::string_view message);

/// Runs "/NAME ARGUMENT". Errors: invalid_argument (no such command, an argument too many or too few), and
/// the command's own.
Result<ChatStep> run_chat_command(ChatState& state, const std::string& message);

/// Errors: unsupported (the model only embeds texts), and those of its chat template.
Status check_can_chat(const generate::Model& model);

/// Completes commands for the line's first word, files for any other; a command's path argument is one word,
/// spaces included. Folders end in a slash. Reads folders; an unreadable one counts as empty.
LineCompletion complete_chat_line(std::string_view line, const Variables& variables);

/// The status line under -v: "812 of 2048 tokens, 45.1 tok/s".
std::string status_line(const ChatSession& session);

} // namespace etna::cli
