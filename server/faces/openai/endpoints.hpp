#pragma once

#include "server/api/route.hpp"

namespace etna::server::openai {

ApiResult<HttpReply> chat_completions(Service& service, const HttpRequest& request, const Call& call);
/// Ends the reasoning of a running answer, see api::control_answer().
ApiResult<HttpReply> control_chat(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> completions(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> embeddings(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> tokenize(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> detokenize(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> apply_template(Service& service, const HttpRequest& request, const Call& call);
/// Describes the tokenizer of the model in the query's `model`, or of the default model.
ApiResult<HttpReply> tokenizer_info(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> count_chat(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> list_models(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_model(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> list_models_dynamo(Service& service, const HttpRequest& request, const Call& call);

// Stored chat completions (`store`). Source: OpenAI API 2.3.0, /chat/completions.

/// Lists the chats, oldest first; the query can filter by model or metadata (`metadata[NAME]=VALUE`).
ApiResult<HttpReply> list_chats(Service& service, const HttpRequest& request, const Call& call);

ApiResult<HttpReply> show_chat(Service& service, const HttpRequest& request, const Call& call);

/// Lists the messages of its request.
ApiResult<HttpReply> list_chat_messages(Service& service, const HttpRequest& request, const Call& call);

/// Replaces its metadata.
ApiResult<HttpReply> change_chat(Service& service, const HttpRequest& request, const Call& call);

ApiResult<HttpReply> remove_chat(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::openai
