#pragma once

#include "core/base/utf8_gate.hpp"
#include "core/text/tokenizer.hpp"

#include <span>
#include <string>
#include <string_view>

namespace etna::text {

enum class ControlTokens {
    hidden, ///< "<|im_end|>" and the like give no text
    shown,  ///< they give their name
};

/// Where the decoded tokens stand in the whole text.
enum class TextPosition {
    beginning,    ///< the space that SentencePiece puts before a text is taken away
    continuation, ///< they go on with a text that is already there: every space counts
};

struct DetokenizeOptions {
    ControlTokens control = ControlTokens::hidden;
    TextPosition position = TextPosition::beginning;
    std::span<const TokenId> shown = {}; ///< control tokens that give their name all the same; ascending,
                                         ///< borrowed
};

/// Token ids one by one to text that is always whole UTF-8 characters: bytes of an unfinished character wait
/// for the next token; bytes that can no longer become one are replaced by U+FFFD, one for each maximal
/// subpart (see utf8.hpp). One text per object; not thread-safe. Nothing is allocated per token once the
/// buffers have grown.
class Detokenizer {
public:
    /// Borrows `tokenizer`.
    explicit Detokenizer(const Tokenizer& tokenizer, DetokenizeOptions options = {});

    /// Text that `token` completes, maybe none. The view holds until the next call. Precondition: token <
    /// size().
    std::string_view push(TokenId token);

    /// The end of the text: an unfinished character becomes U+FFFD. The view holds until the next call.
    std::string_view flush();

private:
    const Tokenizer* tokenizer_;
    DetokenizeOptions options_;
    bool at_beginning_;
    Utf8Gate gate_;
    std::string text_;
};

/// All of `tokens` at once. Precondition: each < tokenizer.size().
std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                   DetokenizeOptions options = {});

} // namespace etna::text
