#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::grammar {

/// The bytes of tokens as a tree: what two tokens begin with is there once. Nodes are numbered so that all
/// below one follow it, up to its end(); a walk is a loop over numbers that leaves out a subtree by going on
/// at its end. Immutable; thread-safe.
class TokenTree {
public:
    TokenTree() = default;
    /// Tokens without bytes are left out; several may have the same.
    explicit TokenTree(std::vector<std::pair<std::string_view, TokenId>> tokens);

    [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
    [[nodiscard]] uint8_t byte(uint32_t node) const { return bytes_[node]; }
    /// Bytes up to and with this node's: at least 1.
    [[nodiscard]] uint32_t depth(uint32_t node) const { return depths_[node]; }
    [[nodiscard]] uint32_t end(uint32_t node) const { return ends_[node]; }
    /// Tokens that are whole at the node, or at any node from the first up to the second.
    [[nodiscard]] std::span<const TokenId> tokens(uint32_t node) const { return tokens(node, node + 1); }
    [[nodiscard]] std::span<const TokenId> tokens(uint32_t first, uint32_t end) const {
        return std::span(tokens_).subspan(first_tokens_[first], first_tokens_[end] - first_tokens_[first]);
    }
    [[nodiscard]] uint32_t depth_max() const { return depth_max_; }

private:
    std::vector<uint8_t> bytes_;
    std::vector<uint32_t> depths_;
    std::vector<uint32_t> ends_;
    std::vector<uint32_t> first_tokens_ = {0}; ///< into tokens_; one more than nodes
    std::vector<TokenId> tokens_;
    uint32_t depth_max_ = 0;
};

} // namespace etna::grammar
