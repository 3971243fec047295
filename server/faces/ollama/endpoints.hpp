#pragma once

#include "server/api/route.hpp"

#include <vector>

// Ollama's API. Source: Ollama, docs/api.md.
namespace etna::server::ollama {

ApiResult<HttpReply> chat(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> generate_text(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> embed(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> embeddings(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> list_models(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> list_running(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_model(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_version(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> pull_model(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> copy_model(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> delete_model(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> refuse_create(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> refuse_push(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> refuse_blob(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> find_blob(Service& service, const HttpRequest& request, const Call& call);

/// The routes of the API, with its errors.
std::vector<Route> routes();

} // namespace etna::server::ollama
