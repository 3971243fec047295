#pragma once

#include "server/storage/database.hpp"
#include "server/storage/reading.hpp"

#include <cstdint>
#include <string>
#include <vector>

// Storage accounting per owner, so that one owner's entries do not evict those of others. The sums are local
// to this connection, not in the file, and are recomputed on opening.
namespace etna::server::storage {

/// Starts counting changes by owner. Call before any change, if the database is written to at all.
Status count_shares(Database& database);

/// An owner and its amount of some resource.
struct Holder {
    Owner owner;
    uint64_t amount = 0;
};

/// Owners with entries of the kind and their counts, largest first.
Result<std::vector<Holder>> holders_of(const Reading& reading, Kind kind);

/// All owners and their bytes, largest first.
Result<std::vector<Holder>> holders_of_bytes(const Reading& reading);

} // namespace etna::server::storage
