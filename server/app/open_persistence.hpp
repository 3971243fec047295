#pragma once

#include "core/base/result.hpp"
#include "server/api/persistence.hpp"
#include "server/batch/files.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace etna::server {

/// Options of the store for responses, conversations and chat completions.
struct PersistenceOptions {
    bool is_enabled = true;
    storage::StoreOptions store = {};
    /// Options of the in-memory fallback if the file cannot be opened; empty: opening fails.
    std::optional<storage::StoreOptions> in_memory = {};
    batch::StoreLimits batches = {}; ///< of files and batches, which are stored next to the store's file
};

/// Opens the store and fails the responses that an earlier process left pending and that cannot be run again.
/// If another process holds the file and has announced its end, waits for it: blocks. Problems and waits are
/// reported to `report`. Errors: those of storage::Store::open() and Seal::open().
Result<std::unique_ptr<Persistence>> open_persistence(const PersistenceOptions& options,
                                                      const std::function<void(std::string_view)>& report);

} // namespace etna::server
