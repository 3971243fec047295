#pragma once

#include "server/keeping.hpp"
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

/// The items with each that refers to one that is kept replaced by that. `name`: the member they stand in,
/// for errors. Errors: 400, with the item's place (nothing is kept here), 404 (nothing of that id), those of
/// the store.
std::variant<Json, ApiError> with_references(Keeping& keeping, const memory::Owner& owner, const Json& items,
                                             const std::string& name);

/// The items with what is sealed replaced by what it stands for: as the model is given them. Errors: 400,
/// with the item's place.
std::variant<Json, ApiError> unsealed(const Keeping& keeping, const memory::Owner& owner, const Json& items,
                                      const std::string& name);

/// What is sealed opens for the same purpose, and for whom it was sealed.
std::string purpose_of(std::string_view purpose, const memory::Owner& owner);

/// The purposes.
inline constexpr std::string_view sealed_reasoning = "reasoning";
inline constexpr std::string_view sealed_items = "compaction";

} // namespace etna::server::responses
