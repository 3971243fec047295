#pragma once

#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/base/json.hpp"
#include "server/faces/ollama/keep_alive.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The bodies of POST /api/chat and /api/generate.
namespace etna::server::ollama {

/// The two forms of requests and answers.
enum class Form : uint8_t { chat, generate };

/// The members of a body that are read before its model is in memory.
struct RequestHead {
    std::string model;
    bool is_streamed = true;
    bool only_loads = false; ///< no messages and no prompt: the request loads or unloads the model
    bool is_raw = false;     ///< the prompt is taken as it is
    std::optional<KeepAlive> keep_alive = {};
    bool ignores_keep_alive = false; ///< the client gave one, but may not change what is in memory

    /// Whether the request asks to unload the model, and for nothing else.
    [[nodiscard]] bool only_unloads() const { return only_loads && keep_alive && keep_alive->is_zero(); }
};

/// Errors: 400, naming the member.
ApiResult<RequestHead> read_head(const Json& body, Form form);

/// What happens to a prompt that is too long for the context.
enum class Overflow : uint8_t {
    refuse, ///< it is an error; of a first attempt, too
    shorten ///< tokens after its start are left out
};

/// Reads the entire body. An answer continues when the context is full, unless `shift` is false.
/// `first_message`: earlier messages of a chat are left out and reported, except for those of the system.
/// Errors: 400, naming the member. Source: Ollama, docs/api.md.
ApiResult<api::GenerationCall> read_request(const Json& body, Form form, const api::RequestContext& context,
                                            Overflow overflow = Overflow::refuse,
                                            std::size_t first_message = 0);

/// Returns whether the request allows a prompt that is too long to be shortened: `truncate`, true by default.
bool may_truncate(const Json& body);

/// Returns the messages that a shortened chat can begin with, in ascending order: not the results of calls,
/// which would lose their calls. Precondition: the body has been read.
std::vector<std::size_t> possible_starts(const Json& body);

} // namespace etna::server::ollama
