#include "core/engine/draft_lookup.hpp"

#include <algorithm>
#include <utility>

namespace etna::engine {
namespace {

constexpr uint32_t prediction_ngram = 3; ///< longest run by which a prediction is found again

/// FNV-1a over length and tokens; who finds something compares the tokens.
uint64_t hash_of(std::span<const TokenId> run) {
    uint64_t hash = 0xcbf29ce484222325U ^ run.size();
    for (const TokenId token : run)
        hash = (hash ^ token) * 0x100000001b3U;
    return hash;
}

} // namespace

void NgramIndex::add(std::span<const TokenId> text, std::size_t end) {
    for (; added_ < end; ++added_) {
        const std::size_t behind = added_ + 1;
        for (std::size_t length = 1; length <= std::min<std::size_t>(longest_, behind); ++length)
            behind_[hash_of(text.subspan(behind - length, length))] = behind;
    }
}

std::size_t NgramIndex::find(std::span<const TokenId> text, std::span<const TokenId> tail,
                             std::size_t shortest) const {
    for (std::size_t length = std::min<std::size_t>(longest_, tail.size()); length >= shortest; --length) {
        const std::span<const TokenId> run = tail.last(length);
        const auto found = behind_.find(hash_of(run));
        if (found == behind_.end() || found->second < length)
            continue;
        if (std::equal(run.begin(), run.end(), text.subspan(found->second - length, length).begin()))
            return found->second;
    }
    return 0;
}

DraftLookup::DraftLookup(uint32_t ngram_max, std::vector<TokenId> prediction)
    : ngram_max_(ngram_max), text_(ngram_max), prediction_(std::move(prediction)),
      predicted_(prediction_ngram) {
    predicted_.add(prediction_, prediction_.size());
}

/// Goes on in the prediction while the answer agrees with it; finds the place again where it does not.
void DraftLookup::follow_prediction(std::span<const TokenId> answer) {
    for (; followed_ < answer.size(); ++followed_) {
        is_on_track_ = is_on_track_ && next_ < prediction_.size() && prediction_[next_] == answer[followed_];
        if (is_on_track_) {
            ++next_;
            continue;
        }
        const std::size_t place = predicted_.find(prediction_, answer.first(followed_ + 1));
        is_on_track_ = place > 0;
        next_ = place;
    }
}

std::vector<TokenId> DraftLookup::draft(std::span<const TokenId> tokens, std::size_t prompt_tokens,
                                        uint32_t most, uint32_t ngram_min) {
    if (!prediction_.empty()) {
        follow_prediction(tokens.subspan(prompt_tokens));
        if (is_on_track_ && next_ < prediction_.size()) {
            const std::size_t count = std::min<std::size_t>(most, prediction_.size() - next_);
            const auto first = prediction_.begin() + static_cast<std::ptrdiff_t>(next_);
            return {first, first + static_cast<std::ptrdiff_t>(count)};
        }
    }
    if (ngram_max_ == 0)
        return {};
    text_.add(tokens, tokens.size() - 1); // the end itself is what is looked for
    const std::size_t place = text_.find(tokens, tokens, ngram_min);
    std::vector<TokenId> drafts;
    for (std::size_t i = 0; place > 0 && i < most; ++i) { // a run that reaches the end goes round
        const std::size_t from = place + i;
        drafts.push_back(from < tokens.size() ? tokens[from] : drafts[from - tokens.size()]);
    }
    return drafts;
}

} // namespace etna::engine
