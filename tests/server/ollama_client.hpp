#pragma once

#include "tests/server/api_client.hpp"

#include <string>
#include <vector>

// Requests to Ollama's API of a FakeService, and readers of their answers.
namespace etna::test {

inline constexpr const char* ollama_chat_path = "/api/chat";
inline constexpr const char* ollama_generate_path = "/api/generate";

/// A chat with one message; `more` continues the object.
std::string ollama_chat(const std::string& text, const std::string& more = "");

/// A chat of the messages, in JSON.
std::string ollama_messages(const std::string& messages, const std::string& more = "");

/// A request for /api/generate.
std::string ollama_prompt(const std::string& text, const std::string& more = "");

/// The same request, not streamed.
inline constexpr const char* whole_answer = R"(, "stream": false)";

/// The lines of a stream; requires that each is JSON, and that the last one is complete.
std::vector<Json> lines_of(const FakeAnswer& stream);

/// The message of an error; checks status and shape.
std::string ollama_error(const FakeAnswer& answer, int status = 400);

} // namespace etna::test
