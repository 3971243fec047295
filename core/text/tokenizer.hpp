#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/gguf/file.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

/// What a token is, as `tokenizer.ggml.token_type` numbers it.
enum class TokenType : uint8_t {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6
};

enum class SpecialTokens {
    parse,   ///< the text of control tokens ("<|im_end|>") becomes that token: for rendered prompts
    literal, ///< it stays text: for what users typed. User-defined tokens are found in both modes
};
enum class AddBos { as_model_says, never };

struct EncodeOptions {
    SpecialTokens special = SpecialTokens::parse;
    AddBos bos = AddBos::as_model_says; ///< also governs add_eos
    /// Borrowed, for the call: asked now and then while the tokens are made; true ends it.
    const std::function<bool()>* stop_requested = nullptr;
    /// Borrowed, for the call: asked before memory is taken, with how many bytes; false ends it. What was
    /// granted is for the tokens, which may be four bytes for each of the text's, and for the longest word.
    const std::function<bool(std::size_t bytes)>* claim_memory = nullptr;
};

/// Text to token ids and back, as the model's file defines it: byte-level BPE (`gpt2`) or SentencePiece
/// (`llama`). Immutable after creation; thread-safe. Time is linear in the text.
class Tokenizer {
public:
    /// Reads `tokenizer.ggml.*`. The file may be closed afterwards: everything needed is copied.
    /// Errors: unsupported (unknown tokenizer or pre-tokenizer, by name), corrupt (lists of different
    /// lengths, ids out of range, missing tables).
    static Result<Tokenizer> create(const gguf::File& file);

    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;
    ~Tokenizer();

    /// Token ids of `text`. Any bytes are accepted; what is not valid UTF-8 is carried through byte tokens.
    /// Byte-level BPE leaves out bytes that the vocabulary lacks. Errors: invalid_argument when SentencePiece
    /// has no way to spell a part of the text, cancelled when `options.stop_requested` says so, out_of_memory
    /// when `options.claim_memory` does.
    [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text,
                                                      const EncodeOptions& options) const;

    /// The bytes that a token stands for; may be part of a UTF-8 character. Control tokens give their name
    /// ("</s>"). Precondition: token < size().
    [[nodiscard]] std::string_view bytes(TokenId token) const;
    [[nodiscard]] TokenType type(TokenId token) const;

    /// True where SentencePiece puts a space before the text that must not appear at the start of the decoded
    /// text.
    [[nodiscard]] bool strips_leading_space() const;

    [[nodiscard]] uint32_t size() const;
    [[nodiscard]] std::optional<TokenId> find(std::string_view name) const;
    [[nodiscard]] std::optional<TokenId> bos() const;
    [[nodiscard]] std::optional<TokenId> eos() const;
    /// Every token after which a model has finished: eos, eot, eom and well-known names ("<|im_end|>", ...).
    [[nodiscard]] std::span<const TokenId> end_tokens() const;

private:
    struct Content;
    explicit Tokenizer(std::unique_ptr<const Content> content);
    std::unique_ptr<const Content> content_;
};

} // namespace etna::text
