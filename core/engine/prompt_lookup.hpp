#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace etna::engine {

struct Request;

/// An occurrence of an n-gram in a text.
struct NgramMatch {
    std::size_t end = 0; ///< position after the n-gram; 0: not found
    std::size_t length = 0;
};

/// All positions of an immutable text, sorted by the tokens before them: finds n-grams of any length, at 12
/// bytes for each position. Immutable, so that threads may share it.
class SuffixIndex {
public:
    SuffixIndex() = default;

    /// Indexes n-grams of at most `length_max` tokens that end before position `end` of `text`.
    SuffixIndex(std::span<const TokenId> text, std::size_t end, uint32_t length_max);

    /// Returns the last occurrence of the longest n-gram, of at least `length_min` tokens, that `tail` ends
    /// with. `text` starts with the text that was indexed.
    [[nodiscard]] NgramMatch find(std::span<const TokenId> text, std::span<const TokenId> tail,
                                  std::size_t length_min = 1) const;

private:
    [[nodiscard]] uint32_t last_of(std::size_t first, std::size_t end) const;

    uint32_t length_max_ = 0;
    std::vector<uint32_t> ends_; ///< positions, by the tokens before them read backwards, then by value
    std::vector<uint32_t> last_; ///< [2 * positions]: a segment tree of the maxima of `ends_`, leaves last
};

/// The last occurrence of each n-gram of 1 to `length_max` tokens in a growing text. Costs a few dozen bytes
/// for each token and length.
class NgramIndex {
public:
    /// Indexes n-grams whose last token is at position `begin` or later.
    explicit NgramIndex(uint32_t length_max, std::size_t begin = 0)
        : length_max_(length_max), added_(begin) {}

    /// Adds the n-grams that end before position `end`. `text` must extend the text of the previous calls.
    void add(std::span<const TokenId> text, std::size_t end);

    /// Returns the last occurrence, in the part of `text` that was added, of the longest n-gram of at least
    /// `length_min` tokens that `tail` ends with.
    [[nodiscard]] NgramMatch find(std::span<const TokenId> text, std::span<const TokenId> tail,
                                  std::size_t length_min = 1) const;

private:
    uint32_t length_max_;
    std::size_t added_;
    std::unordered_map<uint64_t, std::size_t> ends_; ///< hash of length and tokens: position after the n-gram
};

/// The texts in which all answers to a prompt look up their drafts. Immutable, so that they can share it.
class DraftTexts {
public:
    /// `ngram_max`: length of the longest n-gram to look up in the text; 0: none.
    DraftTexts(std::span<const TokenId> prompt, std::vector<TokenId> prediction, uint32_t ngram_max);

    [[nodiscard]] uint32_t ngram_max() const { return ngram_max_; }
    [[nodiscard]] std::size_t prompt_tokens() const { return prompt_tokens_; }
    [[nodiscard]] const std::vector<TokenId>& prediction() const { return prediction_; }

    /// As SuffixIndex::find(), in the prompt, which `text` starts with.
    [[nodiscard]] NgramMatch find_in_prompt(std::span<const TokenId> text, std::size_t length_min) const {
        return prompt_.find(text, text, length_min);
    }
    /// Returns the position in the prediction after the n-gram that `tail` ends with; 0: not found.
    [[nodiscard]] std::size_t find_in_prediction(std::span<const TokenId> tail) const {
        return predicted_.find(prediction_, tail).end;
    }

private:
    uint32_t ngram_max_;
    std::size_t prompt_tokens_;
    SuffixIndex prompt_;
    std::vector<TokenId> prediction_;
    SuffixIndex predicted_;
};

/// Creates the DraftTexts of requests that look up drafts, one for adjacent requests with the same prompt and
/// options, and takes ownership of their predictions. This takes time for long texts, so it runs before the
/// engine's thread gets the requests. A prediction is a hint, and OpenAI's API sets no limit for it: one
/// longer than a context of `context_tokens` is truncated, not refused.
void make_draft_texts(std::span<Request> requests, uint32_t context_tokens);

/// Drafts tokens without a model: the tokens that followed an earlier occurrence of the text's end, or those
/// of a given prediction. Prompt lookup: Saxena 2023; its names and defaults are OpenVINO Model Server's and
/// Hugging Face's.
class PromptLookup {
public:
    /// Null: drafts nothing.
    explicit PromptLookup(std::shared_ptr<const DraftTexts> texts);

    /// Returns at most `limit` tokens that may follow `tokens`, which start with the prompt in the texts.
    /// Matches of fewer than `ngram_min` tokens are ignored. `tokens` must extend the
    /// tokens of the previous calls.
    std::vector<TokenId> draft(std::span<const TokenId> tokens, uint32_t limit, uint32_t ngram_min = 1);

private:
    void follow_prediction(std::span<const TokenId> answer);
    [[nodiscard]] std::size_t find(std::span<const TokenId> tokens, std::size_t length_min) const;

    std::shared_ptr<const DraftTexts> texts_;
    NgramIndex answer_;        ///< n-grams that end at the last token of the prompt or later
    std::size_t compared_ = 0; ///< tokens of the answer that were compared with the prediction
    std::size_t next_ = 0;     ///< next position in the prediction
    bool is_on_track_ = true;
};

} // namespace etna::engine
