#pragma once

#include "core/chat/conversation.hpp"
#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/base/api_error.hpp"
#include "server/base/json.hpp"
#include "server/faces/anthropic/thinking_seal.hpp"

#include <cstdint>

// The bodies of POST /v1/messages and /v1/messages/count_tokens.
namespace etna::server::anthropic {

/// The purpose of a request; with `count`, `max_tokens` is optional.
enum class Purpose : uint8_t { answer, count };

/// How an answer shows the model's thinking.
enum class ThinkingDisplay : uint8_t {
    shown,
    hidden, ///< thinking blocks without text
    none,   ///< no thinking blocks: the client did not request any
};

/// A parsed request.
struct MessagesRequest {
    api::GenerationCall call = {};
    ThinkingDisplay display = ThinkingDisplay::none;
};

/// Parses a body. `betas`: the header `anthropic-beta`; all betas are reported as without effect. Omits
/// thinking blocks that `seal` cannot open, and the `system` block in which Claude Code identifies a request
/// for billing: it differs in every request, so that no prompt could be cached. Errors: 400, naming the
/// member. Source: Anthropic's API reference, 2023-06-01, "Messages".
ApiResult<MessagesRequest> read_messages_request(const Json& body, std::string_view betas, Purpose purpose,
                                                 const ThinkingSeal& seal,
                                                 const api::RequestContext& context);

} // namespace etna::server::anthropic
