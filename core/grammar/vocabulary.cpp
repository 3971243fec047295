#include "core/grammar/vocabulary.hpp"

#include "core/grammar/automaton.hpp"

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
    find_plain();
}

std::optional<PlainText> PlainText::next(uint8_t byte) const {
    if (missing > 0) {
        if (byte < min || byte > max)
            return std::nullopt;
        return PlainText{.missing = static_cast<uint8_t>(missing - 1)};
    }
    const bool is_ascii = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
    if (is_ascii)
        return PlainText{};
    if (byte >= 0xC2 && byte <= 0xDF)
        return PlainText{.missing = 1};
    if (byte >= 0xE0 && byte <= 0xEF) {
        return PlainText{.missing = 2,
                         .min = static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
                         .max = static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
    }
    if (byte >= 0xF0 && byte <= 0xF4) {
        return PlainText{.missing = 3,
                         .min = static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
                         .max = static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
    }
    return std::nullopt;
}

/// Children follow their parents, so that a backward pass computes them first.
void TokenTree::find_plain() {
    is_plain_.resize(size());
    for (uint32_t node = size(); node-- > 0;)
        is_plain_[node] = is_plain_below(node, {});
}

bool TokenTree::is_plain_below(uint32_t node, const PlainText& before) const {
    const auto after = before.next(bytes_[node]);
    if (!after)
        return false;
    for (uint32_t child = node + 1; child < ends_[node]; child = ends_[child]) {
        const bool is_child_plain = after->missing == 0 ? is_plain_[child] : is_plain_below(child, *after);
        if (!is_child_plain)
            return false;
    }
    return true;
}

std::string control_text(TokenId token) {
    std::string text(1, static_cast<char>(control_byte));
    for (const int shift : {16, 8, 0})
        text += static_cast<char>((token >> shift) & 0xFF);
    return text;
}

Vocabulary::Vocabulary(std::vector<std::string> bytes,
                       std::map<std::string, TokenId, std::less<>> control_tokens)
    : bytes_(std::move(bytes)), control_tokens_(std::move(control_tokens)) {
    std::vector<std::pair<std::string_view, TokenId>> few;
    std::vector<std::pair<std::string_view, TokenId>> many;
    for (TokenId token = 0; token < bytes_.size(); ++token)
        (bytes_[token].size() <= short_bytes ? few : many).emplace_back(bytes_[token], token);
    short_ = TokenTree(std::move(few));
    long_ = TokenTree(std::move(many));
    for (TokenId token = 0; token < bytes_.size(); ++token) {
        const std::size_t comma = bytes_[token].find(',');
        if (comma != std::string::npos &&
            bytes_[token].find_first_not_of(" \t\n", comma + 1) != std::string::npos)
            after_comma_.push_back(token);
    }
}

std::optional<TokenId> Vocabulary::control_token(std::string_view name) const {
    const auto found = control_tokens_.find(name);
    return found == control_tokens_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace etna::grammar
