#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace etna::server::storage {

/// Reference counts of nodes in use by live histories, which must not be removed even if nothing else refers
/// to them. In memory only, so that a crashed process pins nothing. Thread-safe; never blocks on I/O.
class Pins {
public:
    void add(int64_t node) {
        const std::scoped_lock lock(mutex_);
        ++counts_[node];
    }

    void remove(int64_t node) {
        const std::scoped_lock lock(mutex_);
        const auto place = counts_.find(node);
        if (--place->second > 0)
            return;
        counts_.erase(place);
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
    void put_back(const std::vector<int64_t>& nodes) {
        const std::scoped_lock lock(mutex_);
        unpinned_.insert(unpinned_.end(), nodes.begin(), nodes.end());
    }

private:
    mutable std::mutex mutex_;
    std::map<int64_t, uint64_t> counts_; ///< pins per node
    std::vector<int64_t> unpinned_;
};

} // namespace etna::server::storage
