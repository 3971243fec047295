#include "core/text/special_matcher.hpp"

namespace etna::text {

void SpecialMatcher::add(std::string_view name, TokenId token) {
    if (name.empty() || name.size() > longest_name_bytes)
        return;
    begins_[static_cast<uint8_t>(name[0])] = true;
    uint32_t node = 0;
    for (const char byte : name) {
        const auto [entry, is_new] =
            edges_.try_emplace(edge(node, byte), static_cast<uint32_t>(nodes_.size()));
        if (is_new)
            nodes_.emplace_back();
        node = entry->second;
    }
    if (!nodes_[node].token)
        nodes_[node].token = token;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, std::size_t from) const {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
        if (!begins_[static_cast<uint8_t>(text[begin])])
            continue;
        std::optional<Match> longest;
        uint32_t node = 0;
        for (std::size_t end = begin; end < text.size();) {
            const auto next = edges_.find(edge(node, text[end]));
            if (next == edges_.end())
                break;
            node = next->second;
            ++end;
            if (nodes_[node].token)
                longest = Match{begin, end, *nodes_[node].token};
        }
        if (longest)
            return longest;
    }
    return std::nullopt;
}

} // namespace etna::text
