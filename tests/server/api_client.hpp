#pragma once

#include "server/base/json.hpp"
#include "tests/server/fake_service.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Requests to the OpenAI APIs of a FakeService, and readers of their answers.
namespace etna::test {

using server::Json;

inline constexpr const char* chats_path = "/v1/chat/completions";
inline constexpr const char* completions_path = "/v1/completions";
inline constexpr const char* responses_path = "/v1/responses";
inline constexpr const char* conversations_path = "/v1/conversations";

/// A template of the contents alone.
inline constexpr const char* plain_template = "{% for m in messages %}{{ m.content }}{% endfor %}";
/// A template whose prompt shows roles, contents and calls, with markers for reasoning and calls.
inline constexpr const char* marked_template =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "</end>{% endfor %}<assistant>{# <tool_call> <think></think> #}";

/// A POST request that has not been sent.
server::HttpRequest post_request(const std::string& path, const std::string& body);

/// Posts with `etna-strict: 1`.
FakeAnswer post_strictly(FakeService& service, const std::string& path, const std::string& body);

/// Sends a request with an API key.
FakeAnswer send_as(FakeService& service, const std::string& key, const std::string& method,
                   const std::string& path, const std::string& body = "");

/// The answer's body; requires the status.
Json json_of(const FakeAnswer& answer, int status = 200);

/// Posts, and returns the answer's body; requires status 200.
Json post_json(FakeService& service, const std::string& path, const std::string& body);

/// The error object; checks the status.
Json error_of(const FakeAnswer& answer, int status = 400);

/// The first choice; requires status 200.
Json choice_of(const FakeAnswer& answer);

/// The value of a header; empty if absent.
std::string header_of(const FakeAnswer& answer, const std::string& name);

/// The header `etna-ignored`; empty if absent.
std::string ignored_fields(const FakeAnswer& answer);

bool contains(const FakeAnswer& answer, std::string_view text);

/// The chunks of a chat's or completion's stream.
std::vector<Json> chunks_of(const FakeAnswer& stream);

/// The first choice of each chunk.
std::vector<Json> pieces_of(const FakeAnswer& stream);

/// The prompt that /apply-template returns; "none" for an error.
std::string prompt_of(FakeService& service, const std::string& body);

// The Responses API.

/// A greedy request with `input` as text; `more` continues the object.
std::string response_body(const std::string& input, const std::string& more = "");

/// Posts a body; requires status 200.
Json create_response(FakeService& service, const std::string& body);

/// The path of a response.
std::string response_path(const Json& response);

/// The member `previous_response_id`, with a leading comma.
std::string previous_response(const Json& response);

/// The events of a stream; checks that each `event:` line has the type of its data.
std::vector<Json> events_of(const std::string& stream);

/// The types of events, without repetitions.
std::vector<std::string> types_of(const std::vector<Json>& events);

/// The prompt tokens of a request, as /v1/responses/input_tokens counts them: a change of the prompt changes
/// its length.
std::size_t input_tokens(FakeService& service, const std::string& body);

/// Creates an empty conversation. Returns its id.
std::string new_conversation(FakeService& service);

/// The items of a conversation, newest first.
Json conversation_items(FakeService& service, const std::string& conversation);

} // namespace etna::test
