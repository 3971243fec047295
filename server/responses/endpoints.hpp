#pragma once

#include "server/router.hpp"

// The Responses API. Source: OpenAI API 2.3.0, /responses and /conversations.
namespace etna::server::responses {

/// Creates a response: complete, streamed, or in the background.
HttpReply create(Service& service, const HttpRequest& request, const Call& call);

/// Returns a stored or running response; with `stream=true`, its events after `starting_after`.
HttpReply show(Service& service, const HttpRequest& request, const Call& call);

HttpReply remove(Service& service, const HttpRequest& request, const Call& call);

/// Cancels a background response.
HttpReply cancel(Service& service, const HttpRequest& request, const Call& call);

/// Lists the input items of its request.
HttpReply list_input(Service& service, const HttpRequest& request, const Call& call);

/// Counts the prompt tokens of a request.
HttpReply count_input(Service& service, const HttpRequest& request, const Call& call);

/// Compacts a conversation into one sealed item that the same server can continue from.
HttpReply compact(Service& service, const HttpRequest& request, const Call& call);

/// Conversations and their items.
HttpReply create_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply show_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply change_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply remove_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply add_items(Service& service, const HttpRequest& request, const Call& call);
HttpReply list_items(Service& service, const HttpRequest& request, const Call& call);
HttpReply show_item(Service& service, const HttpRequest& request, const Call& call);
HttpReply remove_item(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::responses
