#pragma once

#include "server/api/route.hpp"

// The routes of llama.cpp's own server. Source: its tools/server/README.md.
namespace etna::server::llamacpp {

ApiResult<HttpReply> complete(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> infill(Service& service, const HttpRequest& request, const Call& call);

/// Returns one pooled vector per text.
ApiResult<HttpReply> embed(Service& service, const HttpRequest& request, const Call& call);

/// Never loads a model. The query parameter `model` selects one.
ApiResult<HttpReply> show_props(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> change_props(Service& service, const HttpRequest& request, const Call& call);

/// 501 unless the operator allows it, see ServiceOptions::shows_slots.
ApiResult<HttpReply> list_slots(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> change_slot(Service& service, const HttpRequest& request, const Call& call);

/// Loads the model named in the body; replies once it is in memory.
ApiResult<HttpReply> load_model(Service& service, const HttpRequest& request, const Call& call);

/// Frees the memory of the model named in the body.
ApiResult<HttpReply> unload_model(Service& service, const HttpRequest& request, const Call& call);

/// LoRA is not supported: the list of adapters is empty.
ApiResult<HttpReply> list_adapters(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> change_adapters(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::llamacpp
