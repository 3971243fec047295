#pragma once

#include "core/base/token.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etna::text {

/// Finds whole tokens ("<|im_end|>") inside text: the leftmost one, and the longest of those that begin
/// there. A trie over bytes: time is linear in the text, whatever the number of tokens.
class SpecialMatcher {
public:
    /// Longer names are not found; this bounds the work at each position of the text.
    static constexpr std::size_t longest_name_bytes = 512;

    /// `name` (copied into the trie, not empty) shall be found as `token`; of two equal names the first
    /// stays.
    void add(std::string_view name, TokenId token);

    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
        TokenId token = 0;
    };
    /// The first match that begins at `from` or later.
    [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from) const;

private:
    struct Node {
        std::optional<TokenId> token;
    };
    /// Edges of all nodes, by node and byte: nodes are few and mostly have one child.
    [[nodiscard]] static uint64_t edge(uint32_t node, char byte) {
        return (uint64_t{node} << 8) | static_cast<uint8_t>(byte);
    }

    std::vector<Node> nodes_{Node{}};
    std::unordered_map<uint64_t, uint32_t> edges_;
    bool begins_[256] = {}; ///< which bytes any name begins with: most positions of a text are ruled out here
};

} // namespace etna::text
