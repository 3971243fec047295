#pragma once

#include "server/access.hpp"
#include "server/api_error.hpp"
#include "server/batch/files.hpp"
#include "server/responses/response_stream.hpp"
#include "server/seal.hpp"
#include "server/storage/store.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace etna::server {

/// Options of the store for responses, conversations and chat completions.
struct PersistenceOptions {
    bool is_enabled = true;
    storage::StoreOptions store = {};
    /// Options of the in-memory fallback if the file cannot be opened; empty: opening fails.
    std::optional<storage::StoreOptions> in_memory = {};
    batch::StoreLimits batches = {}; ///< of files and batches, which are stored next to the store's file
};

/// State that persists between requests. Thread-safe.
struct Persistence {
    std::optional<storage::Store> store; ///< empty: nothing is stored
    Seal seal;
    std::filesystem::path file = {}; ///< the store's file; empty: in memory
    bool is_memory_fallback = false; ///< in memory because the file could not be opened
    responses::RunningResponses runs = {};

    [[nodiscard]] storage::Store::StoredKinds stored_kinds() const {
        return store ? store->stored_kinds() : storage::Store::StoredKinds{};
    }
};

/// Opens the store and fails the responses that an earlier process left pending and that cannot be run again.
/// If another process holds the file and has announced its end, waits for it: blocks. Problems and waits are
/// reported to `report`. Errors: those of storage::Store::open() and Seal::open().
Result<std::unique_ptr<Persistence>> open_persistence(const PersistenceOptions& options,
                                                      const std::function<void(std::string_view)>& report);

/// The owner whose entries a request can access: its API key's.
storage::Owner owner_of(const AccessRules& access, const HttpRequest& request);

/// The head of a request in the name of an owner: with its key, or without a key as `anonymous`. Empty if the
/// key was removed from the server.
std::optional<HttpRequest> request_of_owner(const AccessRules& access, const storage::Owner& owner,
                                            const HttpRequest& anonymous);

/// Returns the sealing purpose combined with the owner, so that only the same owner can unseal.
std::string purpose_of(std::string_view purpose, const storage::Owner& owner);

/// Converts a store failure to an API error.
ApiError store_failed(const Error& error);

/// Returns the value of a store operation, or store_failed() of its error.
template <class T>
ApiResult<T> from_store(Result<T> result) {
    if (!result)
        return store_failed(result.error());
    return std::move(result).value();
}

/// The error for `what` ("conversations") if it is not stored.
ApiError storage_disabled(std::string_view what);

} // namespace etna::server
