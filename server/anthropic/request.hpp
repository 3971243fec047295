#pragma once

#include "core/chat/conversation.hpp"
#include "server/anthropic/thinking_seal.hpp"
#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/api_error.hpp"
#include "server/json.hpp"

#include <cstdint>

// The bodies of POST /v1/messages and /v1/messages/count_tokens.
namespace etna::server::anthropic {

/// The purpose of a request; with `count`, `max_tokens` may be absent.
enum class Purpose : uint8_t { answer, count };

/// Whether an answer shows the model's thinking.
enum class ThinkingDisplay : uint8_t {
    shown,
    hidden, ///< blocks of thinking have no text
    none,   ///< no blocks of thinking: the client has not asked for any
};

/// A parsed request.
struct MessagesRequest {
    api::GenerationCall call = {};
    ThinkingDisplay display = ThinkingDisplay::none;
    bool has_parallel_calls = true;
};

/// Parses a body. `betas`: the header `anthropic-beta`; all are reported as without effect. Blocks of
/// thinking that `seal` does not open are left out. The block of `system` with which one client identifies
/// itself to a billing service, new in each request, is left out, too: it would make every prompt a new one.
/// Errors: 400, naming the member. Source: Anthropic's API reference, 2023-06-01, "Messages".
ApiResult<MessagesRequest> read_messages_request(const Json& body, std::string_view betas, Purpose purpose,
                                                 const ThinkingSeal& seal,
                                                 const api::RequestContext& context);

} // namespace etna::server::anthropic
