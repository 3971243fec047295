#pragma once

#include "server/base/api_error.hpp"
#include "server/base/json.hpp"
#include "server/storage/store.hpp"

#include <optional>
#include <string>

// Paginated lists: the query parameters `limit`, `order` and `after`.
namespace etna::server {

/// The first query value of that name.
std::optional<std::string> query_value(const HttpRequest& request, std::string_view name);

/// Reads the pagination parameters; without one for the order, it is `default_order`. Errors: 400, with the
/// parameter.
ApiResult<storage::PageRequest> read_page(const HttpRequest& request, storage::Order default_order);

/// {"object": "list", "data", "first_id", "last_id", "has_more"}.
HttpReply list_reply(Json data, bool has_more);

/// The same for a page from the store, whose texts are JSON objects.
HttpReply list_reply(const storage::Page& page);

/// The 400 error if the list has no item `after`.
ApiError unknown_cursor();

/// Paginates a complete list, given oldest first. Errors: 400 (invalid parameters, no item `after`).
ApiResult<HttpReply> page_reply(const HttpRequest& request, Json items, storage::Order default_order);

} // namespace etna::server
