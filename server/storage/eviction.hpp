#pragma once

#include "server/storage/entries.hpp"

#include <array>
#include <cstdint>

// Eviction of expired and surplus entries. Usage is counted per owner, so that one owner's entries do not
// evict those of others. The counts are local to this connection, not in the file, and are recomputed on
// opening.
namespace etna::server::storage {

/// Starts counting usage by owner. Call before any change, if the database is written to at all.
Status track_usage(Database& database);

/// The entries that a change added or grew; others are evicted for them.
struct Inserted {
    std::array<int64_t, 2> entries = {}; ///< entry numbers; 0: none
    int64_t history_bytes = 0;           ///< size of the turns that the entries continue
};

/// Removes all expired entries.
Status remove_expired(const LockedStore& store);

/// Evicts entries beyond the bounds. Error: invalid_argument, as Change::commit().
Status evict_surplus(const LockedStore& store, const Inserted& inserted);

} // namespace etna::server::storage
