#pragma once

#include "server/api/access.hpp"
#include "server/api/route.hpp"

#include <vector>

// The endpoints of files and batches. Source: OpenAI API 2.3.0, /files and /batches.
namespace etna::server::batch {

class Batches;

/// The services of the endpoints. Borrows them.
struct Services {
    Batches* batches = nullptr; ///< null: no files and batches are stored
    const AccessRules& access;
};

/// Stores a file: a form with `file`, `purpose` (batch) and optionally `expires_after`.
ApiResult<HttpReply> upload_file(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& routed);
/// Lists the files, newest first; the query can filter by purpose.
ApiResult<HttpReply> list_files(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> show_file(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed);
ApiResult<HttpReply> send_file(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed);
ApiResult<HttpReply> remove_file(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& routed);

/// Creates a batch from an uploaded file.
ApiResult<HttpReply> create_batch(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& routed);
/// Lists the batches, newest first.
ApiResult<HttpReply> list_batches(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& routed);
ApiResult<HttpReply> show_batch(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed);
/// Cancels a batch; completed answers remain available.
ApiResult<HttpReply> cancel_batch(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& routed);

std::vector<RouteOf<const Services>> routes();

} // namespace etna::server::batch
