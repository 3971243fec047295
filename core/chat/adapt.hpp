#pragma once

#include "core/base/result.hpp"
#include "core/chat/chat_template.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat {

/// A prompt, and what was changed of the conversation so that the template would write all of it.
struct AdaptedPrompt {
    std::string text;
    std::vector<std::string> notes = {}; ///< for people, one clause each; empty where nothing was
    bool tools_in_text = false; ///< the tools are told in the system message, calls are Hermes' syntax
    /// The end of `text` that is the beginning of the answer: a last message that is gone on with.
    std::size_t begun_bytes = 0;
};

/// As ChatTemplate::render(), for conversations as people and programs have them. Forms are changed as the
/// template wants them (content as text or parts, arguments as objects or text, null content). Where the
/// template would refuse or lose something, and only there, the conversation is adapted: a system message
/// goes into the user's first turn, neighbours of one role are joined, tools are told in words, and more of
/// that kind; each is told in a note. Errors: those of render(), where nothing helps the template's own.
Result<AdaptedPrompt> render_adapted(const ChatTemplate& chat_template, std::string_view request_json,
                                     int64_t now_unix_s);

} // namespace etna::chat
