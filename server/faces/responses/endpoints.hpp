#pragma once

#include "server/api/route.hpp"
#include "server/faces/responses/services.hpp"

#include <vector>

// The Responses API. Source: OpenAI API 2.3.0, /responses and /conversations.
namespace etna::server::responses {

/// Creates a response: complete, streamed, or in the background.
ApiResult<HttpReply> create(const Services& services, const HttpRequest& request,
                            const RoutedRequest& routed);

/// Returns a stored or running response; with `stream=true`, its events after `starting_after`.
ApiResult<HttpReply> show(const Services& services, const HttpRequest& request, const RoutedRequest& routed);

ApiResult<HttpReply> remove(const Services& services, const HttpRequest& request,
                            const RoutedRequest& routed);

/// Cancels a background response.
ApiResult<HttpReply> cancel(const Services& services, const HttpRequest& request,
                            const RoutedRequest& routed);

/// Ends the reasoning of a running response, see api::control_answer().
ApiResult<HttpReply> control(const Services& services, const HttpRequest& request,
                             const RoutedRequest& routed);

/// Lists the input items of its request.
ApiResult<HttpReply> list_input(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed);

/// Counts the prompt tokens of a request.
ApiResult<HttpReply> count_input(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& routed);

/// Compacts a conversation into one sealed item that the same server can continue from.
ApiResult<HttpReply> compact(const Services& services, const HttpRequest& request,
                             const RoutedRequest& routed);

/// Conversations and their items.
ApiResult<HttpReply> create_conversation(const Services& services, const HttpRequest& request,
                                         const RoutedRequest& routed);
ApiResult<HttpReply> show_conversation(const Services& services, const HttpRequest& request,
                                       const RoutedRequest& routed);
ApiResult<HttpReply> change_conversation(const Services& services, const HttpRequest& request,
                                         const RoutedRequest& routed);
ApiResult<HttpReply> remove_conversation(const Services& services, const HttpRequest& request,
                                         const RoutedRequest& routed);
ApiResult<HttpReply> add_items(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed);
ApiResult<HttpReply> list_items(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> show_item(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed);
ApiResult<HttpReply> remove_item(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& routed);

/// The routes of responses and conversations. Their errors are those of OpenAI's API.
std::vector<RouteOf<const Services>> routes();

} // namespace etna::server::responses
