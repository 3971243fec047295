#pragma once

#include "core/base/utf8_gate.hpp"
#include "core/text/tokenizer.hpp"

#include <span>
#include <string>
#include <string_view>

namespace etna::text {

enum class ControlTokens {
    hidden, ///< "<|im_end|>" and the like produce no text
    shown,  ///< they produce their name
};

/// Position of the decoded tokens in the full text.
enum class TextPosition {
    start,        ///< the space that SentencePiece prepends to a text is removed
    continuation, ///< they continue an existing text: every space counts
};

struct DetokenizeOptions {
    ControlTokens control = ControlTokens::hidden;
    TextPosition position = TextPosition::start;
    std::span<const TokenId> shown = {}; ///< control tokens shown even so; ascending, borrowed
};

/// Incremental detokenizer whose output is always complete UTF-8 characters: bytes of an incomplete character
/// wait for the next token; invalid bytes become U+FFFD, one per maximal subpart (see utf8.hpp). One text per
/// object; not thread-safe. Does not allocate per token once the buffers have grown.
class Detokenizer {
public:
    /// Borrows `tokenizer`.
    explicit Detokenizer(const Tokenizer& tokenizer, DetokenizeOptions options = {});

    /// Returns the text that `token` completes, possibly none. The view is valid until the next call.
    /// Precondition: token < size().
    std::string_view push(TokenId token);

    /// Ends the text: an incomplete character becomes U+FFFD. The view is valid until the next call.
    std::string_view flush();

    /// Bytes of the tokens so far that wait for the rest of a character.
    [[nodiscard]] std::size_t waiting_bytes() const { return gate_.waiting_bytes(); }

private:
    const Tokenizer* tokenizer_;
    DetokenizeOptions options_;
    bool at_start_;
    Utf8Gate gate_;
    std::string text_;
};

/// Decodes all of `tokens` at once. Precondition: each < tokenizer.size().
std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                   DetokenizeOptions options = {});

} // namespace etna::text
