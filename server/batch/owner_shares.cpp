#include "server/batch/owner_shares.hpp"

#include <algorithm>

namespace etna::server::batch {

void OwnerShares::add(const storage::Owner& owner, uint64_t amount) {
    if (amount == 0)
        return;
    amounts_[owner] += amount;
    total_ += amount;
}

void OwnerShares::remove(const storage::Owner& owner, uint64_t amount) {
    const auto found = amounts_.find(owner);
    if (found == amounts_.end())
        return;
    amount = std::min(amount, found->second);
    found->second -= amount;
    total_ -= amount;
    if (found->second == 0)
        amounts_.erase(found);
}

uint64_t OwnerShares::of(const storage::Owner& owner) const {
    const auto found = amounts_.find(owner);
    return found == amounts_.end() ? 0 : found->second;
}

uint64_t OwnerShares::share_beside(const storage::Owner& owner) const {
    const uint64_t owners = amounts_.size() + (amounts_.contains(owner) ? 0 : 1);
    return max_ / owners + (max_ % owners == 0 ? 0 : 1);
}

bool OwnerShares::is_within_share(const storage::Owner& owner, uint64_t more) const {
    const uint64_t share = share_beside(owner);
    return more <= share && of(owner) <= share - more;
}

std::vector<storage::Owner> OwnerShares::beyond_share(const storage::Owner& owner) const {
    const uint64_t share = share_beside(owner);
    std::vector<storage::Owner> owners;
    for (const auto& [other, amount] : amounts_) {
        if (other != owner && amount > share)
            owners.push_back(other);
    }
    std::ranges::sort(owners, std::ranges::greater(), [this](const auto& one) { return of(one); });
    return owners;
}

} // namespace etna::server::batch
