#pragma once

#include "server/router.hpp"

// The routes of llama.cpp's own server. Source: its tools/server/README.md.
namespace etna::server::llamacpp {

ApiResult<HttpReply> complete(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> infill(Service& service, const HttpRequest& request, const Call& call);

/// Replies with one pooled vector for each text.
ApiResult<HttpReply> embed(Service& service, const HttpRequest& request, const Call& call);

/// Never loads a model; the query `model` names one.
ApiResult<HttpReply> show_props(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> change_props(Service& service, const HttpRequest& request, const Call& call);

/// 501 unless the operator allows it, see ServiceOptions::shows_slots.
ApiResult<HttpReply> list_slots(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> change_slot(Service& service, const HttpRequest& request, const Call& call);

/// Loads the model named in the body, and replies when it is in memory.
ApiResult<HttpReply> load_model(Service& service, const HttpRequest& request, const Call& call);

/// Frees the memory of the model named in the body.
ApiResult<HttpReply> unload_model(Service& service, const HttpRequest& request, const Call& call);

/// There are none: LoRA is not supported.
ApiResult<HttpReply> list_adapters(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> change_adapters(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::llamacpp
