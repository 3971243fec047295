#pragma once

#include "cli/chat/settings.hpp"
#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"

namespace etna::cli {

enum class History { kept, not_kept };

/// The validated command line of `etna chat`.
struct ChatOptions {
    ModelOptions model;
    ChatSettings settings;
    History history = History::kept;
    Verbosity verbosity = Verbosity::quiet;
};

/// Borrows `command`. Errors: invalid_argument.
Result<ChatOptions> validate_chat(const Command& command, const TypedArguments& arguments);

/// Runs `etna chat`: a conversation at the terminal or through pipes. Blocking.
ExitCode chat_command(ChatOptions options, const Environment& environment);

} // namespace etna::cli
