#pragma once

#include "server/storage/store.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace etna::server::batch {

/// The amounts of a bounded resource that owners hold. An owner's share is the bound divided by the number of
/// owners that hold some of it. An owner within its share loses nothing to others. Not thread-safe.
class OwnerShares {
public:
    explicit OwnerShares(uint64_t max) : max_(max) {}

    void add(const storage::Owner& owner, uint64_t amount);
    /// Precondition: the owner holds as much.
    void remove(const storage::Owner& owner, uint64_t amount);

    [[nodiscard]] uint64_t total() const { return total_; }
    [[nodiscard]] uint64_t of(const storage::Owner& owner) const;
    /// Whether all owners together may hold `more`.
    [[nodiscard]] bool has_room(uint64_t more) const { return more <= max_ && total_ <= max_ - more; }
    /// Whether the owner would be within its share with `more`.
    [[nodiscard]] bool is_within_share(const storage::Owner& owner, uint64_t more) const;
    /// Returns the other owners that are beyond their share when `owner` has one, too; largest first.
    [[nodiscard]] std::vector<storage::Owner> beyond_share(const storage::Owner& owner) const;

private:
    /// Rounded up: with a bound above 0, no share is 0.
    [[nodiscard]] uint64_t share_beside(const storage::Owner& owner) const;

    const uint64_t max_;
    uint64_t total_ = 0;
    std::map<storage::Owner, uint64_t> amounts_; ///< none is 0
};

} // namespace etna::server::batch
