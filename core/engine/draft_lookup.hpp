#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace etna::engine {

/// Where runs of 1 to `longest` tokens stand in a text that grows: the last place of each. One run costs a
/// few dozen bytes for each token and length.
class NgramIndex {
public:
    explicit NgramIndex(uint32_t longest) : longest_(longest) {}

    /// Adds the runs that end before place `end`. `text` begins as it did in the calls before.
    void add(std::span<const TokenId> text, std::size_t end);

    /// The place in `text`, which was added, behind the last run that is as long as possible, of `shortest`
    /// tokens at least, and equal to the end of `tail`; 0 where there is none.
    [[nodiscard]] std::size_t find(std::span<const TokenId> text, std::span<const TokenId> tail,
                                   std::size_t shortest = 1) const;

private:
    uint32_t longest_;
    std::size_t added_ = 0;
    std::unordered_map<uint64_t, std::size_t> behind_; ///< hash of length and tokens: the place after
};

/// Drafts tokens without a model: what followed when the text was like this before, or what somebody
/// predicted it to be. Prompt lookup: Saxena 2023; its names and defaults are OpenVINO Model Server's and
/// Hugging Face's.
class DraftLookup {
public:
    /// `ngram_max`: the longest run of tokens that is looked for in the text; 0: none.
    DraftLookup(uint32_t ngram_max, std::vector<TokenId> prediction);

    /// At most `most` tokens that may follow `tokens`, of which the first `prompt_tokens` are the prompt.
    /// Runs of fewer than `ngram_min` tokens of the text say nothing. `tokens` begins as it did in the calls
    /// before.
    std::vector<TokenId> draft(std::span<const TokenId> tokens, std::size_t prompt_tokens, uint32_t most,
                               uint32_t ngram_min = 1);

private:
    void follow_prediction(std::span<const TokenId> answer);

    uint32_t ngram_max_;
    NgramIndex text_;
    std::vector<TokenId> prediction_;
    NgramIndex predicted_;
    std::size_t followed_ = 0; ///< tokens of the answer that were compared with the prediction
    std::size_t next_ = 0;     ///< place in the prediction that comes next
    bool is_on_track_ = true;
};

} // namespace etna::engine
