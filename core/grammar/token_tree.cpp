#include "core/grammar/token_tree.hpp"

#include <algorithm>

namespace etna::grammar {

TokenTree::TokenTree(std::vector<std::pair<std::string_view, TokenId>> tokens) {
    std::erase_if(tokens, [](const auto& token) { return token.first.empty(); });
    std::sort(tokens.begin(), tokens.end());
    std::vector<uint32_t> path; // nodes of the last token
    std::string_view last;
    first_tokens_.clear();
    const auto leave = [&](std::size_t depth) {
        for (; path.size() > depth; path.pop_back())
            ends_[path.back()] = size();
    };
    for (const auto& [bytes, token] : tokens) {
        const auto differs = std::mismatch(last.begin(), last.end(), bytes.begin(), bytes.end()).second;
        leave(static_cast<std::size_t>(differs - bytes.begin()));
        for (std::size_t i = path.size(); i < bytes.size(); ++i) {
            path.push_back(size());
            bytes_.push_back(static_cast<uint8_t>(bytes[i]));
            depths_.push_back(static_cast<uint32_t>(i + 1));
            ends_.push_back(0);
            first_tokens_.push_back(static_cast<uint32_t>(tokens_.size()));
        }
        tokens_.push_back(token);
        depth_max_ = std::max(depth_max_, static_cast<uint32_t>(bytes.size()));
        last = bytes;
    }
    leave(0);
    first_tokens_.push_back(static_cast<uint32_t>(tokens_.size()));
}

} // namespace etna::grammar
