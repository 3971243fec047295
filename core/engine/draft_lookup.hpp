#pragma once

#include "core/base/token.hpp"
#include "core/engine/sorted_places.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace etna::engine {

struct Request;

/// The last occurrence of each run of 1 to `longest` tokens in a growing text. Costs a few dozen bytes for
/// each token and length.
class NgramIndex {
public:
    /// Indexes runs whose last token is at position `begin` or later.
    explicit NgramIndex(uint32_t longest, std::size_t begin = 0) : longest_(longest), added_(begin) {}

    /// Adds the runs that end before position `end`. `text` must extend the text of the previous calls.
    void add(std::span<const TokenId> text, std::size_t end);

    /// The last occurrence in `text`, as far as it was added, of the longest run, of at least `shortest`
    /// tokens, that `tail` ends with.
    [[nodiscard]] FoundRun find(std::span<const TokenId> text, std::span<const TokenId> tail,
                                std::size_t shortest = 1) const;

private:
    uint32_t longest_;
    std::size_t added_;
    std::unordered_map<uint64_t, std::size_t> behind_; ///< hash of length and tokens: position after the run
};

/// The texts in which all answers to a prompt look up their drafts. Immutable, so that they can share it.
class DraftTexts {
public:
    /// `ngram_max`: the longest run of tokens to look up in the text; 0: none.
    DraftTexts(std::span<const TokenId> prompt, std::vector<TokenId> prediction, uint32_t ngram_max);

    [[nodiscard]] uint32_t ngram_max() const { return ngram_max_; }
    [[nodiscard]] std::size_t prompt_tokens() const { return prompt_tokens_; }
    [[nodiscard]] const std::vector<TokenId>& prediction() const { return prediction_; }

    /// As SortedPlaces::find(), in the prompt, which `text` starts with.
    [[nodiscard]] FoundRun find_in_prompt(std::span<const TokenId> text, std::size_t shortest) const {
        return prompt_.find(text, text, shortest);
    }
    /// The position in the prediction after the run that `tail` ends with; 0: not found.
    [[nodiscard]] std::size_t find_in_prediction(std::span<const TokenId> tail) const {
        return predicted_.find(prediction_, tail).behind;
    }

private:
    uint32_t ngram_max_;
    std::size_t prompt_tokens_;
    SortedPlaces prompt_;
    std::vector<TokenId> prediction_;
    SortedPlaces predicted_;
};

/// Makes the DraftTexts of requests that look up drafts, one for adjacent requests with the same prompt and
/// options, and takes ownership of their predictions. This takes time for long texts, so it runs before the
/// engine's thread gets the requests. A prediction is a hint, and OpenAI's API sets no limit for it: one
/// longer than a context of `context_tokens` is truncated, not refused.
void make_draft_texts(std::span<Request> requests, uint32_t context_tokens);

/// Drafts tokens without a model: the tokens that followed an earlier occurrence of the text's end, or those
/// of a given prediction. Prompt lookup: Saxena 2023; its names and defaults are OpenVINO Model Server's and
/// Hugging Face's.
class DraftLookup {
public:
    /// Null: drafts nothing.
    explicit DraftLookup(std::shared_ptr<const DraftTexts> texts);

    /// Returns at most `most` tokens that may follow `tokens`, which start with the prompt that the texts
    /// were made of. Runs of fewer than `ngram_min` tokens of the text are ignored. `tokens` must extend the
    /// tokens of the previous calls.
    std::vector<TokenId> draft(std::span<const TokenId> tokens, uint32_t most, uint32_t ngram_min = 1);

private:
    void follow_prediction(std::span<const TokenId> answer);
    [[nodiscard]] std::size_t find(std::span<const TokenId> tokens, std::size_t shortest) const;

    std::shared_ptr<const DraftTexts> texts_;
    NgramIndex answer_;        ///< runs that end at the last token of the prompt or later
    std::size_t followed_ = 0; ///< tokens of the answer that were compared with the prediction
    std::size_t next_ = 0;     ///< next position in the prediction
    bool is_on_track_ = true;
};

} // namespace etna::engine
