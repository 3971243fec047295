#pragma once

#include "core/base/keyed_hash.hpp"
#include "core/base/result.hpp"
#include "core/base/sorted_names.hpp"
#include "core/base/token.hpp"
#include "core/gguf/file.hpp"
#include "core/text/tokenizer.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etna::text {

/// SentencePiece's spelling of a space in token names: U+2581.
constexpr std::string_view space_mark = "\xE2\x96\x81";

/// Many strings in one allocation. Views stay valid when the table is moved, not when it grows.
class StringTable {
public:
    void append(std::string_view text) {
        characters_.insert(characters_.end(), text.begin(), text.end());
        ends_.push_back(characters_.size());
    }
    [[nodiscard]] std::string_view operator[](std::size_t index) const {
        const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
        return {characters_.data() + begin, ends_[index] - begin};
    }
    [[nodiscard]] std::size_t size() const { return ends_.size(); }

private:
    std::vector<char> characters_; // not a std::string: moving a short one would invalidate views
    std::vector<std::size_t> ends_;
};

/// Special token ids from `tokenizer.ggml.*_token_id`; all are below the vocabulary's size.
struct SpecialIds {
    std::optional<TokenId> bos, eos, eot, eom, unknown, padding, cls, separator;
};

/// The validated vocabulary of a GGUF file: every list is as long as the vocabulary, every id below its size.
/// Immutable after reading; thread-safe.
struct Vocabulary {
    /// SentencePiece and WordPiece make no token of text whose name is longer: this bounds the work at each
    /// position of a text. The longest known has 128 bytes.
    static constexpr std::size_t text_name_bytes_max = 512;

    StringTable names; ///< by token, as written in the file
    std::vector<TokenType> types;
    std::vector<float> scores; ///< empty, or one per token; never NaN
    SpecialIds special;
    std::vector<TokenId> end_tokens; ///< ascending
    /// Into `names`; the first of equal names.
    std::unordered_map<std::string_view, TokenId, KeyedHash> by_name;
    std::size_t longest_name_bytes = 0;

    /// Errors: corrupt, naming the list or id.
    static Result<Vocabulary> read(const gguf::File& file);

    Vocabulary() = default;
    Vocabulary(Vocabulary&&) = default; // `by_name` points into `names`, whose characters do not move
    Vocabulary& operator=(Vocabulary&&) = default;
    Vocabulary(const Vocabulary&) = delete;
    Vocabulary& operator=(const Vocabulary&) = delete;
    ~Vocabulary() = default;

    [[nodiscard]] std::optional<TokenId> find(std::string_view name) const;
    /// As find(), for tokens that text may merge into: never a control, unknown or byte token, regardless of
    /// its name.
    [[nodiscard]] std::optional<TokenId> find_text(std::string_view name) const;
    /// Returns the names that find_text() finds, up to text_name_bytes_max, with their tokens.
    [[nodiscard]] SortedNames text_names() const;
};

/// Returns the array of strings at `key`. Errors: corrupt (absent or of another type).
Result<std::span<const std::string_view>> read_strings(const gguf::File& file, std::string_view key);

/// Returns the byte that a token named like "<0x0A>" encodes.
std::optional<uint8_t> byte_of_name(std::string_view name);

} // namespace etna::text
