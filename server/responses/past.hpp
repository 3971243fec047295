#pragma once

#include "server/responses/keeping.hpp"
#include "server/responses/request.hpp"

#include <optional>
#include <variant>

namespace etna::server::responses {

/// What stands before a request's own items.
struct Past {
    Json items = Json::array();
    std::optional<memory::History> history = {}; ///< of the response that is gone on from
};

/// Loads it. Errors: 400 previous_response_not_found, 404 (no such conversation), 400 (nothing is kept here),
/// and those of the store.
std::variant<Past, ApiError> load_past(Keeping& keeping, const memory::Owner& owner, const Request& request);

/// The items with what refers to others, and what is sealed, replaced by what it stands for. `name`: the
/// member they stand in, for errors. Errors: 400, with the item's place.
std::variant<Json, ApiError> resolved(const Keeping& keeping, const Json& items, const std::string& name);

/// What went wrong with the store, for clients.
ApiError store_failed(const Error& error);

/// The purposes of what is sealed.
inline constexpr std::string_view sealed_reasoning = "reasoning";
inline constexpr std::string_view sealed_items = "compaction";

} // namespace etna::server::responses
