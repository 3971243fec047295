#pragma once

#include "server/access.hpp"
#include "server/api_error.hpp"
#include "server/responses/response_stream.hpp"
#include "server/seal.hpp"
#include "server/storage/store.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace etna::server {

/// Options of the store for responses, conversations and chat completions.
struct KeepingOptions {
    bool keeps = true;
    storage::StoreOptions store = {};
    /// Options of the in-memory fallback if the file cannot be opened; empty: opening fails.
    std::optional<storage::StoreOptions> in_memory = {};
};

/// State that persists between requests. Thread-safe.
struct Keeping {
    std::optional<storage::Store> store; ///< empty: nothing is stored
    Seal seal;
    std::filesystem::path file = {}; ///< the store's file; empty: in memory
    bool is_makeshift = false;       ///< in memory because the file could not be opened
    responses::RunningResponses runs = {};

    [[nodiscard]] storage::Store::Keeps keeps() const {
        return store ? store->keeps() : storage::Store::Keeps{};
    }
};

/// Opens the store and settles responses that an earlier process left unfinished. If another process holds
/// the file and has announced its end, waits for it: blocks. Problems and waits are reported to `tell`.
/// Errors: those of storage::Store::open() and Seal::open().
Result<std::unique_ptr<Keeping>> open_keeping(const KeepingOptions& options,
                                              const std::function<void(std::string_view)>& tell);

/// The owner whose entries a request can access: its API key's.
storage::Owner owner_of(const AccessRules& access, const HttpRequest& request);

/// Converts a store failure to an API error.
ApiError store_failed(const Error& error);

/// The error for `what` ("conversations") if it is not stored.
ApiError nothing_is_kept(std::string_view what);

} // namespace etna::server
