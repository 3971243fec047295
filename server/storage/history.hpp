#pragma once

#include "server/storage/database.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Nodes, one per turn, linked into history chains. A node is stored once, however many responses continue it,
// and retained while a response or another node refers to it, or it is pinned.
namespace etna::server::storage {

/// Reference counts of nodes in use by live histories, which must not be removed even if nothing else refers
/// to them. In memory only, so that a crashed process pins nothing. Thread-safe; never blocks on I/O.
class NodePins {
public:
    void add(int64_t node) {
        const std::scoped_lock lock(mutex_);
        ++counts_[node];
    }

    void remove(int64_t node) {
        const std::scoped_lock lock(mutex_);
        const auto found = counts_.find(node);
        if (--found->second > 0)
            return;
        counts_.erase(found);
        unpinned_.push_back(node);
    }

    [[nodiscard]] bool has(int64_t node) const {
        const std::scoped_lock lock(mutex_);
        return counts_.contains(node);
    }

    /// Takes the nodes that were unpinned and may now be unused; each is returned once.
    [[nodiscard]] std::vector<int64_t> take_unpinned() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(unpinned_, {});
    }

    /// Returns taken nodes that could not be checked.
    void return_unpinned(const std::vector<int64_t>& nodes) {
        const std::scoped_lock lock(mutex_);
        unpinned_.insert(unpinned_.end(), nodes.begin(), nodes.end());
    }

private:
    mutable std::mutex mutex_;
    std::map<int64_t, uint64_t> counts_; ///< pins per node
    std::vector<int64_t> unpinned_;
};

/// Adds a node, charged to `owner`, and returns its number. Precondition: the parent exists.
Result<int64_t> add_turn(Database& database, std::string_view owner, std::string_view turn,
                         std::optional<int64_t> parent);

/// Removes the node if it is unused, then its parent if that is unused, and so on.
Status release_turns(Database& database, const NodePins& pins, int64_t node);

/// The same for every unused node, left by requests that were running when the process died.
Status release_orphans(Database& database, const NodePins& pins);

/// The turns up to and including the node, oldest first.
Result<std::vector<std::string>> turns_up_to(Database& database, int64_t node);

} // namespace etna::server::storage
