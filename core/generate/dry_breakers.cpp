#include "core/generate/dry_breakers.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

using Tokens = std::vector<TokenId>;

Status check(std::span<const std::string> breakers) {
    if (breakers.size() > dry_breakers_max) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} sequence breakers, and at most {} can be had", breakers.size(),
                                 dry_breakers_max)};
    }
    for (const std::string& breaker : breakers) {
        if (breaker.empty() || breaker.size() > dry_breaker_bytes_max) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("a sequence breaker has {} bytes, outside 1 to {}", breaker.size(),
                                     dry_breaker_bytes_max)};
        }
    }
    return {};
}

/// Returns the tokens of a text that continues another one. SentencePiece prepends a space at the start of a
/// text, but not after a line end, which does not merge with anything.
Result<Tokens> encode_continuation(const text::Tokenizer& tokenizer, std::string_view text) {
    const text::EncodeOptions options{.special = text::SpecialTokens::literal, .bos = text::AddBos::never};
    if (!tokenizer.strips_leading_space())
        return tokenizer.encode(text, options);
    ETNA_TRY(const Tokens line_end, tokenizer.encode("\n", options));
    ETNA_TRY(Tokens tokens, tokenizer.encode(fmt::format("\n{}", text), options));
    const std::size_t behind = std::min(line_end.size(), tokens.size());
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(behind));
    return tokens;
}

Status append(const text::Tokenizer& tokenizer, std::string_view breaker, std::vector<Tokens>& sequences) {
    std::vector<Tokens> rests(breaker.size()); // [k]: tokens of the breaker without its first k bytes
    for (std::size_t k = 1; k < breaker.size(); ++k) {
        ETNA_TRY(rests[k], encode_continuation(tokenizer, breaker.substr(k)));
    }
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        if (tokenizer.type(token) == text::TokenType::control)
            continue;
        const std::string_view text = tokenizer.bytes(token);
        if (text.find(breaker) != std::string_view::npos) {
            sequences.push_back({token});
            continue;
        }
        for (std::size_t k = 1; k < breaker.size(); ++k) {
            if (!text.ends_with(breaker.substr(0, k)))
                continue;
            Tokens& sequence = sequences.emplace_back(Tokens{token});
            sequence.insert(sequence.end(), rests[k].begin(), rests[k].end());
        }
    }
    return {};
}

} // namespace

std::vector<std::string> default_dry_breakers() {
    return {"\n", ":", "\"", "*"};
}

Result<sampling::SequenceBreakers> encode_dry_breakers(const text::Tokenizer& tokenizer,
                                                       std::span<const std::string> breakers) {
    ETNA_CHECK(check(breakers));
    std::vector<Tokens> sequences;
    for (const std::string& breaker : breakers)
        ETNA_CHECK(append(tokenizer, breaker, sequences));
    return sampling::SequenceBreakers::create(std::move(sequences));
}

} // namespace etna::generate
