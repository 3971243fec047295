#pragma once

#include "cli/chat/session.hpp"
#include "cli/chat/settings.hpp"
#include "core/chat/conversation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// The content of a file of /save and /load: a chat request as accepted by `etna render` and `etna run
/// --messages`, with the state of the chat in its member `etna`.
struct Saved {
    chat::Conversation conversation;
    std::vector<Setting> settings = {}; ///< options that were given or set
    std::string tools_file = {};        ///< empty: the tools have no file, or there are none
};

std::string saved_json(const ChatSession& session, const ChatSettings& settings);

/// Parses this or any other chat request. Members that apply to one particular answer are ignored. Errors:
/// invalid_argument, naming the member.
Result<Saved> parse_saved(std::string_view text);

} // namespace etna::cli
