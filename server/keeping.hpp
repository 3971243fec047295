#pragma once

#include "server/access.hpp"
#include "server/api_error.hpp"
#include "server/memory/store.hpp"
#include "server/responses/run.hpp"
#include "server/seal.hpp"

#include <optional>
#include <string_view>

namespace etna::server {

/// What a server keeps between requests. Thread-safe.
struct Keeping {
    std::optional<memory::Store> store; ///< empty: nothing is kept
    Seal seal;
    responses::Runs runs = {};

    [[nodiscard]] memory::Store::Keeps keeps() const {
        return store ? store->keeps() : memory::Store::Keeps{};
    }
};

/// Whose entries a request may see: those of its key.
memory::Owner owner_of(const AccessRules& access, const HttpRequest& request);

/// What went wrong with the store, for clients.
ApiError store_failed(const Error& error);

/// `what`, of which nothing is kept: "conversations".
ApiError nothing_is_kept(std::string_view what);

} // namespace etna::server
