#pragma once

#include "cli/chat/commands.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// What /show WHAT prints. Errors: invalid_argument (nothing of that name), and those of rendering.
Result<std::vector<std::string>> lines_of(const std::string& what, const ChatState& state);

/// A line for each tool: its name and its command.
std::vector<std::string> tool_lines(const Tools& tools);

/// What /stats prints.
std::vector<std::string> statistics_lines(const ChatSession& session);

/// The status line under -v: "812 of 2048 tokens, 45.1 tok/s".
std::string status_line(const ChatSession& session);

} // namespace etna::cli
