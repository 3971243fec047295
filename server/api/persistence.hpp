#pragma once

#include "server/base/api_error.hpp"
#include "server/base/seal.hpp"
#include "server/storage/store.hpp"

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace etna::server {

/// State that persists between requests. Thread-safe.
struct Persistence {
    std::optional<storage::Store> store; ///< empty: nothing is stored
    Seal seal;
    std::filesystem::path file = {}; ///< the store's file; empty: in memory
    bool is_memory_fallback = false; ///< in memory because the file could not be opened

    [[nodiscard]] storage::Store::StoredKinds stored_kinds() const {
        return store ? store->stored_kinds() : storage::Store::StoredKinds{};
    }
};

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
