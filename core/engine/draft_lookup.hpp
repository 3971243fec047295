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

/// Where runs of 1 to `longest` tokens stand in a text that grows: the last place of each. One run costs a
/// few dozen bytes for each token and length.
class NgramIndex {
public:
    /// Of runs that end behind place `begin` or later.
    explicit NgramIndex(uint32_t longest, std::size_t begin = 0) : longest_(longest), added_(begin) {}

    /// Adds the runs that end before place `end`. `text` begins as it did in the calls before.
    void add(std::span<const TokenId> text, std::size_t end);

    /// The last run in `text`, which was added, that is as long as possible, of `shortest` tokens at least,
    /// and equal to the end of `tail`.
    [[nodiscard]] FoundRun find(std::span<const TokenId> text, std::span<const TokenId> tail,
                                std::size_t shortest = 1) const;

private:
    uint32_t longest_;
    std::size_t added_;
    std::unordered_map<uint64_t, std::size_t> behind_; ///< hash of length and tokens: the place after
};

/// What all answers to a prompt look their drafts up in. Never changes: they share it.
class DraftTexts {
public:
    /// `ngram_max`: the longest run of tokens that is looked for in the text; 0: none.
    DraftTexts(std::span<const TokenId> prompt, std::vector<TokenId> prediction, uint32_t ngram_max);

    [[nodiscard]] uint32_t ngram_max() const { return ngram_max_; }
    [[nodiscard]] std::size_t prompt_tokens() const { return prompt_tokens_; }
    [[nodiscard]] const std::vector<TokenId>& prediction() const { return prediction_; }

    /// As SortedPlaces::find(), in the prompt that `text` begins with.
    [[nodiscard]] FoundRun find_in_prompt(std::span<const TokenId> text, std::size_t shortest) const {
        return prompt_.find(text, text, shortest);
    }
    /// The place in the prediction behind what `tail` ends with; 0: nowhere.
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

/// Makes the DraftTexts of requests that look drafts up, one for neighbours of the same prompt and wishes,
/// and takes their predictions over. That takes time for long texts: it is done before the engine's thread
/// has them. A prediction is a hint, and OpenAI's API names no bound of it: what is longer than a context of
/// `context_tokens` is cut there, and not refused.
void make_draft_texts(std::span<Request> requests, uint32_t context_tokens);

/// Drafts tokens without a model: what followed when the text was like this before, or what somebody
/// predicted it to be. Prompt lookup: Saxena 2023; its names and defaults are OpenVINO Model Server's and
/// Hugging Face's.
class DraftLookup {
public:
    /// Null: drafts nothing.
    explicit DraftLookup(std::shared_ptr<const DraftTexts> texts);

    /// At most `most` tokens that may follow `tokens`, of which the first are the prompt that the texts were
    /// made of. Runs of fewer than `ngram_min` tokens of the text say nothing. `tokens` begins as it did in
    /// the calls before.
    std::vector<TokenId> draft(std::span<const TokenId> tokens, uint32_t most, uint32_t ngram_min = 1);

private:
    void follow_prediction(std::span<const TokenId> answer);
    [[nodiscard]] std::size_t find(std::span<const TokenId> tokens, std::size_t shortest) const;

    std::shared_ptr<const DraftTexts> texts_;
    NgramIndex answer_;        ///< runs that end behind the prompt
    std::size_t followed_ = 0; ///< tokens of the answer that were compared with the prediction
    std::size_t next_ = 0;     ///< place in the prediction that comes next
    bool is_on_track_ = true;
};

} // namespace etna::engine
