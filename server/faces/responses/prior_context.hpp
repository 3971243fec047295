#pragma once

#include "server/api/persistence.hpp"
#include "server/faces/responses/request.hpp"
#include "server/faces/responses/response_stream.hpp"

#include <optional>

namespace etna::server::responses {

/// The prior context of a request: the items before its own.
struct PriorContext {
    Json items = Json::array();
    std::optional<storage::History> history = {}; ///< the history of the previous response
};

/// Loads the prior context. `running`: the responses of which a missing one may be. Errors: 400
/// previous_response_not_found, 404 (no such conversation), 400 (storage is off), and those of the store.
ApiResult<PriorContext> load_prior_context(Persistence& persistence, RunningResponses& running,
                                           const storage::Owner& owner, const Request& request);

/// Resolves references to stored items. `name`: the field that contains the items, for errors. Errors: 400,
/// with the item's path (storage is off), 404 (no such id), those of the store.
ApiResult<Json> resolve_references(Persistence& persistence, const storage::Owner& owner, const Json& items,
                                   const std::string& name);

/// Replaces sealed items by their contents, for the model. Errors: 400, with the item's path.
ApiResult<Json> unseal(const Persistence& persistence, const storage::Owner& owner, const Json& items,
                       const std::string& name);

/// Sealing purposes.
inline constexpr std::string_view sealed_reasoning = "reasoning";
inline constexpr std::string_view sealed_items = "compaction";

} // namespace etna::server::responses
