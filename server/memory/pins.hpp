#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace etna::server::memory {

/// Nodes that somebody goes on from at this moment, and which therefore stay, used or not. In memory alone:
/// a process that died holds nothing. Thread-safe; never waits for a file.
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

    /// Nodes that were pinned and are not, which perhaps nobody uses; told once.
    [[nodiscard]] std::vector<int64_t> take_unpinned() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(unpinned_, {});
    }

    /// What was taken and could not be looked at.
    void put_back(const std::vector<int64_t>& nodes) {
        const std::scoped_lock lock(mutex_);
        unpinned_.insert(unpinned_.end(), nodes.begin(), nodes.end());
    }

private:
    mutable std::mutex mutex_;
    std::map<int64_t, uint64_t> counts_; ///< by node
    std::vector<int64_t> unpinned_;
};

} // namespace etna::server::memory
