#include "core/base/special_matcher.hpp"

#include <algorithm>

namespace etna {

void SpecialMatcher::add(std::string_view name, TokenId token, AtBarrier at_barrier) {
    if (name.empty() || name.size() > longest_name_bytes)
        return;
    begins_[static_cast<uint8_t>(name[0])] = true;
    uint32_t node = 0;
    for (const char byte : name) {
        nodes_[node].is_inner = true;
        const auto [entry, is_new] =
            edges_.try_emplace(edge(node, byte), static_cast<uint32_t>(nodes_.size()));
        if (is_new)
            nodes_.emplace_back();
        node = entry->second;
    }
    if (!nodes_[node].token) {
        nodes_[node].token = token;
        nodes_[node].at_barrier = at_barrier;
    }
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, std::size_t from,
                                                          std::span<const std::size_t> barriers) const {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
        if (!begins_[static_cast<uint8_t>(text[begin])])
            continue;
        const auto barrier = std::upper_bound(barriers.begin(), barriers.end(), begin);
        const std::size_t limit = barrier == barriers.end() ? text.size() : *barrier;
        std::optional<Match> longest;
        uint32_t node = 0;
        for (std::size_t end = begin; end < text.size();) {
            const auto next = edges_.find(edge(node, text[end]));
            if (next == edges_.end())
                break;
            node = next->second;
            ++end;
            if (nodes_[node].token && (end <= limit || nodes_[node].at_barrier == AtBarrier::passes))
                longest = Match{begin, end, *nodes_[node].token};
        }
        if (longest)
            return longest;
    }
    return std::nullopt;
}

bool SpecialMatcher::is_proper_prefix(std::string_view text) const {
    uint32_t node = 0;
    for (const char byte : text) {
        const auto next = edges_.find(edge(node, byte));
        if (next == edges_.end())
            return false;
        node = next->second;
    }
    return nodes_[node].is_inner;
}

} // namespace etna
