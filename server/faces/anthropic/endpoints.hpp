#pragma once

#include "server/api/route.hpp"

// Anthropic's Messages API. Source: its API reference, 2023-06-01.
namespace etna::server::anthropic {

ApiResult<HttpReply> create_message(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> count_tokens(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> list_models(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_model(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::anthropic
