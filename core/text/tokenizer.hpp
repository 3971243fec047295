#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/gguf/file.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace etna::text {

/// Token types, numbered as in `tokenizer.ggml.token_type`.
enum class TokenType : uint8_t {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6
};

enum class SpecialTokens {
    parse,   ///< the text of a control token ("<|im_end|>") becomes that token: for rendered prompts
    literal, ///< it stays text: for user input. User-defined tokens are matched in both modes
};
enum class AddBos { as_model_says, never };

struct EncodeOptions {
    SpecialTokens special = SpecialTokens::parse;
    AddBos bos = AddBos::as_model_says; ///< also governs add_eos
    /// Ascending positions in the text, borrowed for the call: the name of a control token is text where it
    /// lies across one. User-defined tokens are not affected.
    std::span<const std::size_t> barriers = {};
    CancelPoll is_cancelled = {}; ///< polled during tokenization
    /// Borrowed for the call: called before an allocation with its size in bytes; false ends the call. Grants
    /// cover the tokens, up to four bytes per byte of text, and the longest word.
    const std::function<bool(std::size_t bytes)>* reserve_memory = nullptr;
};

/// Converts text to token ids and back, as the model's file defines it: byte-level BPE (`gpt2`),
/// SentencePiece's BPE (`llama`) and unigram model (`t5`), WordPiece (`bert`), or BPE of characters
/// (`gemma4`). Immutable after creation; thread-safe. Time is linear in the text.
class Tokenizer {
public:
    /// Reads `tokenizer.ggml.*`. The file may be closed afterwards, because everything needed is copied.
    /// Errors: unsupported (unknown tokenizer or pre-tokenizer, by name), corrupt (lists of different
    /// lengths, ids out of range, missing tables).
    static Result<Tokenizer> create(const gguf::File& file);

    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;
    ~Tokenizer();

    /// Returns the token ids of `text`. Accepts any bytes; invalid UTF-8 is encoded as byte tokens.
    /// Byte-level BPE drops bytes missing from the vocabulary. Errors: invalid_argument (SentencePiece cannot
    /// encode a part of the text), cancelled (`options.is_cancelled` returned true), out_of_memory
    /// (`options.reserve_memory` returned false).
    [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text,
                                                      const EncodeOptions& options) const;

    /// Returns the token's bytes; may be part of a UTF-8 character. For a control token, its name ("</s>").
    /// Precondition: token < size().
    [[nodiscard]] std::string_view bytes(TokenId token) const;
    [[nodiscard]] TokenType type(TokenId token) const;

    /// Returns true if SentencePiece prepends a space that must be stripped from the start of the decoded
    /// text.
    [[nodiscard]] bool strips_leading_space() const;

    [[nodiscard]] uint32_t size() const;
    [[nodiscard]] std::optional<TokenId> find(std::string_view name) const;
    [[nodiscard]] std::optional<TokenId> bos() const;
    [[nodiscard]] std::optional<TokenId> eos() const;
    /// All tokens that end a model's turn: eos, eot, eom and well-known names ("<|im_end|>", ...).
    [[nodiscard]] std::span<const TokenId> end_tokens() const;

private:
    struct Impl;
    explicit Tokenizer(std::unique_ptr<const Impl> impl);
    std::unique_ptr<const Impl> impl_;
};

} // namespace etna::text
