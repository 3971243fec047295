#pragma once

#include "server/memory/database.hpp"
#include "server/memory/reading.hpp"

#include <cstdint>
#include <string>
#include <vector>

// What each owner has of what is kept, so that nobody's entries drive out those of others. The sums are this
// connection's own, beside the file: whoever opens it counts anew.
namespace etna::server::memory {

/// From now on, changes are counted by owner. Before them, where the database is written to at all.
Status count_shares(Database& database);

/// An owner, and so much of something.
struct Holder {
    Owner owner;
    uint64_t amount = 0;
};

/// All who have entries of the kind, and how many; whoever has most comes first.
Result<std::vector<Holder>> holders_of(const Reading& reading, Kind kind);

/// All who have anything, and how many bytes of it; whoever has most comes first.
Result<std::vector<Holder>> holders_of_bytes(const Reading& reading);

} // namespace etna::server::memory
