#pragma once

#include "server/router.hpp"

#include <vector>

namespace etna::server::openai {

HttpReply chat_completions(Service& service, const HttpRequest& request, const Call& call);
HttpReply list_models(Service& service, const HttpRequest& request, const Call& call);
HttpReply show_model(Service& service, const HttpRequest& request, const Call& call);
HttpReply list_models_dynamo(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::openai
