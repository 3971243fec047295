#pragma once

#include "core/base/token.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etna {

/// Whether a special token may lie across a barrier of the text: see SpecialMatcher::find().
enum class AtBarrier : uint8_t { ends, passes };

/// Finds special tokens ("<|im_end|>") inside text: the leftmost one, and the longest of those that begin
/// there. A trie over bytes: time is linear in the text, independent of the number of tokens.
class SpecialMatcher {
public:
    /// Longer names are not found; this bounds the work at each position of the text.
    static constexpr std::size_t longest_name_bytes = 512;

    /// Makes `name` (copied into the trie, not empty) match as `token`; of two equal names the first wins.
    void add(std::string_view name, TokenId token, AtBarrier at_barrier = AtBarrier::ends);

    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
        TokenId token = 0;
    };
    /// Returns the first match that begins at `from` or later. `barriers` are ascending positions in the
    /// text: a name added with AtBarrier::ends does not match across one, i.e. with bytes on both sides.
    [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from,
                                            std::span<const std::size_t> barriers = {}) const;

    /// Returns whether a name begins with `text` and is longer.
    [[nodiscard]] bool is_proper_prefix(std::string_view text) const;

private:
    struct Node {
        std::optional<TokenId> token;
        AtBarrier at_barrier = AtBarrier::ends;
        bool is_inner = false; ///< names continue after it
    };
    /// Edges of all nodes, by node and byte: nodes are few and mostly have one child.
    [[nodiscard]] static uint64_t edge(uint32_t node, char byte) {
        return (uint64_t{node} << 8) | static_cast<uint8_t>(byte);
    }

    std::vector<Node> nodes_{Node{}};
    std::unordered_map<uint64_t, uint32_t> edges_;
    bool begins_[256] = {}; ///< first bytes of the names: rules out most positions of a text
};

} // namespace etna
