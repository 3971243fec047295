#pragma once

#include "core/base/token.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::grammar {

/// The state of reading one character of plain text: see TokenTree::is_plain().
struct PlainText {
    uint8_t missing = 0; ///< bytes that the character still needs
    uint8_t min = 0x80;  ///< range of the next byte
    uint8_t max = 0xBF;

    /// The state after one more byte; empty if that is not plain text. Source: RFC 3629, section 4.
    [[nodiscard]] std::optional<PlainText> next(uint8_t byte) const;
    bool operator==(const PlainText&) const = default;
};

/// The bytes of tokens as a prefix tree (trie). Nodes are numbered in preorder: the descendants of a node
/// follow it, up to its end(); a walk is a loop over numbers that skips a subtree by continuing at its end.
/// Immutable; thread-safe.
class TokenTree {
public:
    TokenTree() = default;
    /// Tokens without bytes are left out; several tokens may have the same bytes.
    explicit TokenTree(std::vector<std::pair<std::string_view, TokenId>> tokens);

    [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
    [[nodiscard]] uint8_t byte(uint32_t node) const { return bytes_[node]; }
    /// Number of bytes up to and including this node's: at least 1.
    [[nodiscard]] uint32_t depth(uint32_t node) const { return depths_[node]; }
    [[nodiscard]] uint32_t end(uint32_t node) const { return ends_[node]; }
    /// Tokens that end at the node, or at any node from the first up to the second.
    [[nodiscard]] std::span<const TokenId> tokens(uint32_t node) const { return tokens(node, node + 1); }
    [[nodiscard]] std::span<const TokenId> tokens(uint32_t first, uint32_t end) const {
        return std::span(tokens_).subspan(first_tokens_[first], first_tokens_[end] - first_tokens_[first]);
    }
    [[nodiscard]] uint32_t depth_max() const { return depth_max_; }
    /// Whether every path from the node, including its byte, down to any token below it is plain text: UTF-8
    /// characters other than quotes, backslashes and control characters; the last one may be cut off.
    [[nodiscard]] bool is_plain(uint32_t node) const { return is_plain_[node]; }

private:
    void find_plain();
    [[nodiscard]] bool is_plain_below(uint32_t node, const PlainText& before) const;

    std::vector<uint8_t> bytes_;
    std::vector<uint32_t> depths_;
    std::vector<uint32_t> ends_;
    std::vector<uint32_t> first_tokens_ = {0}; ///< into tokens_; one more than nodes
    std::vector<TokenId> tokens_;
    std::vector<bool> is_plain_;
    uint32_t depth_max_ = 0;
};

/// The bytes of a control token in a vocabulary: control_byte, then the token's number.
std::string control_text(TokenId token);

/// The bytes of a vocabulary's tokens, indexed for mask computation. Immutable; thread-safe.
class Vocabulary {
public:
    /// `bytes[t]` are the bytes of token t; empty for one that never fits. `control_tokens` are those that
    /// mark up texts, by name; see control_text().
    explicit Vocabulary(std::vector<std::string> bytes,
                        std::map<std::string, TokenId, std::less<>> control_tokens = {});

    [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
    [[nodiscard]] std::string_view bytes(TokenId token) const { return bytes_[token]; }
    [[nodiscard]] std::optional<TokenId> control_token(std::string_view name) const;
    /// Tokens of up to short_bytes bytes, and longer ones.
    [[nodiscard]] const TokenTree& short_tokens() const { return short_; }
    [[nodiscard]] const TokenTree& long_tokens() const { return long_; }
    /// Tokens with more than white space after a comma.
    [[nodiscard]] const std::vector<TokenId>& tokens_after_comma() const { return after_comma_; }

    static constexpr uint32_t short_bytes = 32;

private:
    std::vector<std::string> bytes_;
    std::map<std::string, TokenId, std::less<>> control_tokens_;
    TokenTree short_;
    TokenTree long_;
    std::vector<TokenId> after_comma_;
};

} // namespace etna::grammar
