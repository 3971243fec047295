#pragma once

#include "server/openai/answering.hpp"
#include "server/router.hpp"

#include <optional>

// Stored chat completions (`store`). Source: OpenAI API 2.3.0, /chat/completions.
namespace etna::server::openai {

/// Stores a chat completion: the client's `object`, with the request fields other than the messages.
/// Precondition: Answering::call has `kept`. Errors: those of the store.
std::optional<ApiError> keep_chat(const Answering& answering, Json object);

/// Lists the chats, oldest first; the query can filter by model or metadata (`metadata[NAME]=VALUE`).
HttpReply list_chats(Service& service, const HttpRequest& request, const Call& call);

HttpReply show_chat(Service& service, const HttpRequest& request, const Call& call);

/// Lists the messages of its request.
HttpReply list_chat_messages(Service& service, const HttpRequest& request, const Call& call);

/// Replaces its metadata.
HttpReply change_chat(Service& service, const HttpRequest& request, const Call& call);

HttpReply remove_chat(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::openai
