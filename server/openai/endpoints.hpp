#pragma once

#include "server/router.hpp"

#include <vector>

namespace etna::server::openai {

HttpReply chat_completions(Service& service, const HttpRequest& request, const Call& call);
HttpReply completions(Service& service, const HttpRequest& request, const Call& call);
HttpReply tokenize(Service& service, const HttpRequest& request, const Call& call);
HttpReply detokenize(Service& service, const HttpRequest& request, const Call& call);
HttpReply apply_template(Service& service, const HttpRequest& request, const Call& call);
HttpReply count_chat(Service& service, const HttpRequest& request, const Call& call);
HttpReply list_models(Service& service, const HttpRequest& request, const Call& call);
HttpReply show_model(Service& service, const HttpRequest& request, const Call& call);
HttpReply list_models_dynamo(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::openai
