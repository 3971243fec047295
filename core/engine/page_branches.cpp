#include "core/engine/page_branches.hpp"

#include <algorithm>

namespace etna::engine {

void PageBranches::add(const PageHash& parent, const PageHash& hash, std::span<const TokenId> tokens,
                       std::span<const RowKind> kinds) {
    std::vector<Branch>& branches = branches_[parent];
    const auto known = std::find_if(branches.begin(), branches.end(),
                                    [&](const Branch& branch) { return branch.hash == hash; });
    if (known != branches.end())
        return;
    if (branches.size() == branches_max) {
        branches.erase(branches.begin());
        --count_;
    }
    branches.push_back({hash, {tokens.begin(), tokens.end()}, {kinds.begin(), kinds.end()}});
    ++count_;
}

std::optional<PageBranches::Found> PageBranches::longest(const PageHash& parent,
                                                         std::span<const TokenId> tokens,
                                                         std::span<const RowKind> kinds,
                                                         const Exists& exists) const {
    const auto branches = branches_.find(parent);
    if (branches == branches_.end())
        return std::nullopt;
    Found best;
    for (const Branch& branch : branches->second) {
        const std::size_t limit = std::min(branch.tokens.size(), tokens.size());
        uint32_t positions = 0;
        while (positions < limit && branch.tokens[positions] == tokens[positions] &&
               branch.kinds[positions] == kinds[positions])
            ++positions;
        if (positions > best.positions && exists(branch.hash))
            best = {branch.hash, positions};
    }
    if (best.positions == 0)
        return std::nullopt;
    return best;
}

void PageBranches::prune(const Exists& exists) {
    for (auto entry = branches_.begin(); entry != branches_.end();) {
        std::vector<Branch>& branches = entry->second;
        count_ -= std::erase_if(branches, [&](const Branch& branch) { return !exists(branch.hash); });
        entry = branches.empty() ? branches_.erase(entry) : std::next(entry);
    }
}

} // namespace etna::engine
