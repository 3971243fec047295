#pragma once

#include "cli/chat/commands.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// Returns the output of /show WHAT. Errors: invalid_argument (unknown name), and those of rendering.
Result<std::vector<std::string>> lines_of(const std::string& what, const ChatState& state);

/// Returns one line per tool: its name and its command.
std::vector<std::string> tool_lines(const Tools& tools);

/// Returns the output of /stats.
std::vector<std::string> statistics_lines(const ChatSession& session);

/// The status line under -v: "812 of 2048 tokens, 45.1 tok/s".
std::string status_line(const ChatSession& session);

} // namespace etna::cli
