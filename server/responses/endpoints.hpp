#pragma once

#include "server/router.hpp"

// The Responses API. Source: OpenAI API 2.3.0, /responses and /conversations.
namespace etna::server::responses {

/// Makes one: whole, streamed, or in the background.
HttpReply create(Service& service, const HttpRequest& request, const Call& call);

/// One that is kept or being made; with `stream=true` its events, from `starting_after` on.
HttpReply show(Service& service, const HttpRequest& request, const Call& call);

HttpReply remove(Service& service, const HttpRequest& request, const Call& call);

/// Ends one that is made in the background.
HttpReply cancel(Service& service, const HttpRequest& request, const Call& call);

/// The items that its request brought.
HttpReply list_input(Service& service, const HttpRequest& request, const Call& call);

/// How many tokens a request would give the model.
HttpReply count_input(Service& service, const HttpRequest& request, const Call& call);

/// Makes a conversation into one sealed item that the same server can go on from.
HttpReply compact(Service& service, const HttpRequest& request, const Call& call);

/// Conversations, and their items.
HttpReply create_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply show_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply change_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply remove_conversation(Service& service, const HttpRequest& request, const Call& call);
HttpReply add_items(Service& service, const HttpRequest& request, const Call& call);
HttpReply list_items(Service& service, const HttpRequest& request, const Call& call);
HttpReply show_item(Service& service, const HttpRequest& request, const Call& call);
HttpReply remove_item(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::responses
