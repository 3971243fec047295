#pragma once

#include "cli/chat/session.hpp"
#include "cli/chat/settings.hpp"
#include "core/chat/conversation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// What /save writes and /load reads: a chat request as `etna render` and `etna run --messages` take it, and
/// beside it, in `etna`, what belongs to the chat.
struct Saved {
    chat::Conversation conversation;
    std::vector<Setting> settings = {}; ///< that were given or set
    std::string tools_file = {};        ///< empty: the tools are from nowhere, or there are none
};

std::string saved_json(const ChatSession& session, const ChatSettings& settings);

/// Other chat requests will do too. Members of a request that ask for one particular answer are left out.
/// Errors: invalid_argument, naming the member.
Result<Saved> parse_saved(std::string_view text);

} // namespace etna::cli
