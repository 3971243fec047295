#pragma once

#include "server/api_error.hpp"
#include "server/json.hpp"
#include "server/memory/store.hpp"

#include <optional>
#include <string>
#include <variant>

// Lists that are told in parts: `limit`, `order` and `after` of a query.
namespace etna::server {

/// The first of that name.
std::optional<std::string> query_value(const HttpRequest& request, std::string_view name);

/// Errors: 400, with the member. `usual`: the order where none is asked for.
std::variant<memory::PageWish, ApiError> read_page(const HttpRequest& request, memory::Order usual);

/// {"object": "list", "data", "first_id", "last_id", "has_more"}.
HttpReply list_reply(Json data, bool has_more);

/// The same of a page as the store gives it: its texts are objects.
HttpReply list_reply(const memory::Page& page);

/// 400: the list has no item `after`.
ApiError no_such_place();

/// A part of a list that is there as a whole, the oldest first. Errors: 400 (wrong members, no item `after`).
HttpReply page_reply(const HttpRequest& request, Json items, memory::Order usual);

} // namespace etna::server
