#pragma once

#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/json.hpp"
#include "server/ollama/keep_alive.hpp"

#include <cstdint>
#include <optional>
#include <string>

// The bodies of POST /api/chat and /api/generate.
namespace etna::server::ollama {

/// The two forms of requests and answers.
enum class Form : uint8_t { chat, generate };

/// The members of a body that are read before its model is in memory.
struct RequestHead {
    std::string model;
    bool is_streamed = true;
    bool only_loads = false; ///< no messages and no prompt: the request loads or unloads the model
    std::optional<KeepAlive> keep_alive = {};
};

/// Errors: 400, naming the member.
ApiResult<RequestHead> read_head(const Json& body, Form form);

/// Reads the entire body. Errors: 400, naming the member. Source: Ollama, docs/api.md.
ApiResult<api::GenerationCall> read_request(const Json& body, Form form, const api::RequestContext& context);

} // namespace etna::server::ollama
