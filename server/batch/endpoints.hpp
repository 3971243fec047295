#pragma once

#include "server/api/route.hpp"

// The endpoints of files and batches. Source: OpenAI API 2.3.0, /files and /batches.
namespace etna::server::batch {

/// Stores a file: a form with `file`, `purpose` (batch) and optionally `expires_after`.
ApiResult<HttpReply> upload_file(Service& service, const HttpRequest& request, const Call& call);
/// Lists the files, newest first; the query can filter by purpose.
ApiResult<HttpReply> list_files(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_file(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> send_file(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> remove_file(Service& service, const HttpRequest& request, const Call& call);

/// Creates a batch from an uploaded file.
ApiResult<HttpReply> create_batch(Service& service, const HttpRequest& request, const Call& call);
/// Lists the batches, newest first.
ApiResult<HttpReply> list_batches(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> show_batch(Service& service, const HttpRequest& request, const Call& call);
/// Cancels a batch; completed answers remain available.
ApiResult<HttpReply> cancel_batch(Service& service, const HttpRequest& request, const Call& call);

} // namespace etna::server::batch
