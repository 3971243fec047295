#pragma once

#include "server/openai/answering.hpp"
#include "server/router.hpp"

#include <optional>

// Chats that are found again, since their requests said `store`. Source: OpenAI API 2.3.0,
// /chat/completions.
namespace etna::server::openai {

/// Keeps the answer of a chat that asked for it: `object` as a client gets it, with what was asked beside
/// the messages. Precondition: Answering::call has `kept`. Errors: those of the store.
std::optional<ApiError> keep_chat(const Answering& answering, Json object);

/// The chats, the oldest first; of one model, or with metadata, where the query says so
/// (`metadata[NAME]=VALUE`).
HttpReply list_chats(Service& service, const HttpRequest& request, const Call& call);

HttpReply show_chat(Service& service, const HttpRequest& request, const Call& call);

/// The messages of its request.
HttpReply list_chat_messages(Service& service, const HttpRequest& request, const Call& call);

/// Gives it other metadata.
HttpReply change_chat(Service& service, const HttpRequest& request, const Call& call);

HttpReply remove_chat(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::openai
