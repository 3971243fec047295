#pragma once

#include "server/api/route.hpp"

// The Responses API. Source: OpenAI API 2.3.0, /responses and /conversations.
namespace etna::server::responses {

/// Creates a response: complete, streamed, or in the background.
ApiResult<HttpReply> create(Service& service, const HttpRequest& request, const Call& call);

/// Returns a stored or running response; with `stream=true`, its events after `starting_after`.
ApiResult<HttpReply> show(Service& service, const HttpRequest& request, const Call& call);

ApiResult<HttpReply> remove(Service& service, const HttpRequest& request, const Call& call);

/// Cancels a background response.
ApiResult<HttpReply> cancel(Service& service, const HttpRequest& request, const Call& call);

/// Ends the reasoning of a running response, see api::control_answer().
ApiResult<HttpReply> control(Service& service, const HttpRequest& request, const Call& call);

/// Lists the input items of its request.
ApiResult<HttpReply> list_input(Service& service, const HttpRequest& request, const Call& call);

/// Counts the prompt tokens of a request.
ApiResult<HttpReply> count_input(Service& service, const HttpRequest& request, const Call& call);

/// Compacts a conversation into one sealed item that the same server can continue from.
ApiResult<HttpReply> compact(Service& service, const HttpRequest& request, const Call& call);

/// Conversations and their items.
ApiResult<HttpReply> create_conversation(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_conversation(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> change_conversation(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> remove_conversation(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> add_items(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> list_items(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_item(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> remove_item(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::responses
