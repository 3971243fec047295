#include "core/engine/page_branches.hpp"

#include <algorithm>

namespace etna::engine {

/// Number of leading positions that agree.
uint32_t PageBranches::Branch::agreement(const ContentRun& content) const {
    const std::size_t limit = std::min(ids.size(), content.ids.size());
    uint32_t positions = 0;
    while (positions < limit && ids[positions] == content.ids[positions] &&
           kinds[positions] == content.kinds[positions])
        ++positions;
    return positions;
}

void PageBranches::add(const PageHash& parent, const PageHash& hash, const ContentRun& content) {
    std::vector<Branch>& branches = branches_[parent];
    const auto known = std::find_if(branches.begin(), branches.end(),
                                    [&](const Branch& branch) { return branch.hash == hash; });
    if (known != branches.end())
        return;
    if (branches.size() == branches_max) {
        branches.erase(branches.begin());
        --count_;
    }
    branches.push_back(
        {hash, {content.ids.begin(), content.ids.end()}, {content.kinds.begin(), content.kinds.end()}});
    ++count_;
}

std::optional<PageBranches::Found> PageBranches::longest(const PageHash& parent, const ContentRun& content,
                                                         const Exists& exists) const {
    const auto branches = branches_.find(parent);
    if (branches == branches_.end())
        return std::nullopt;
    Found best;
    for (const Branch& branch : branches->second) {
        const uint32_t positions = branch.agreement(content);
        if (positions > best.positions && exists(branch.hash))
            best = {branch.hash, positions};
    }
    if (best.positions == 0)
        return std::nullopt;
    return best;
}

std::optional<PageBranches::Found>
PageBranches::longest_whole(const PageHash& parent, const ContentRun& content, const Exists& exists) const {
    const auto branches = branches_.find(parent);
    if (branches == branches_.end())
        return std::nullopt;
    std::optional<Found> best;
    for (const Branch& branch : branches->second) {
        const uint32_t positions = branch.agreement(content);
        const bool is_longest = !best || positions > best->positions;
        if (positions == branch.ids.size() && is_longest && exists(branch.hash))
            best = {branch.hash, positions};
    }
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
