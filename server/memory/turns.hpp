#pragma once

#include "server/memory/database.hpp"
#include "server/memory/pins.hpp"

#include <optional>
#include <string>
#include <vector>

// Nodes, each a turn, that chain to histories. Kept once, however many responses go on from them; kept while
// a response has them, another node goes on from them, or they are pinned.
namespace etna::server::memory {

/// Its number. The parent is there; it counts as `owner`'s.
Result<int64_t> add_turn(Database& database, std::string_view owner, std::string_view turn,
                         std::optional<int64_t> parent);

/// Removes the node where nobody uses it, then its parent where nobody uses that, and so on.
Status release_turns(Database& database, const Pins& pins, int64_t node);

/// The same from every node that nobody uses: of requests that were at work when the process died.
Status release_orphans(Database& database, const Pins& pins);

/// Up to and with the node, the oldest first.
Result<std::vector<std::string>> turns_up_to(Database& database, int64_t node);

} // namespace etna::server::memory
