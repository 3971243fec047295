#pragma once

#include "server/storage/database.hpp"
#include "server/storage/pins.hpp"

#include <optional>
#include <string>
#include <vector>

// Nodes, one per turn, linked into history chains. A node is stored once, however many responses continue it,
// and retained while a response or another node refers to it, or it is pinned.
namespace etna::server::storage {

/// Adds a node, charged to `owner`, and returns its number. Precondition: the parent exists.
Result<int64_t> add_turn(Database& database, std::string_view owner, std::string_view turn,
                         std::optional<int64_t> parent);

/// Removes the node if it is unused, then its parent if that is unused, and so on.
Status release_turns(Database& database, const Pins& pins, int64_t node);

/// The same for every unused node, left by requests that were running when the process died.
Status release_orphans(Database& database, const Pins& pins);

/// The turns up to and including the node, oldest first.
Result<std::vector<std::string>> turns_up_to(Database& database, int64_t node);

} // namespace etna::server::storage
