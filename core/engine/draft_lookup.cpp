#include "core/engine/draft_lookup.hpp"

#include "core/engine/request.hpp"

#include <algorithm>
#include <utility>

namespace etna::engine {
namespace {

constexpr uint32_t prediction_ngram = 3; ///< longest run used to find the position in a prediction again

/// FNV-1a over length and tokens; a hit is checked by comparing the tokens.
uint64_t hash_of(std::span<const TokenId> run) {
    uint64_t hash = 0xcbf29ce484222325U ^ run.size();
    for (const TokenId token : run)
        hash = (hash ^ token) * 0x100000001b3U;
    return hash;
}

/// The number of prompt positions that are followed by another prompt token: the end is the run to look up.
std::size_t inner_places(std::size_t prompt_tokens) {
    return prompt_tokens - std::min<std::size_t>(prompt_tokens, 1);
}

bool looks_up(const Request& request) {
    const auto& wish = request.speculation;
    return wish && wish->texts == nullptr && !request.beams &&
           (wish->lookup_ngram_max > 0 || !wish->prediction.empty());
}

/// Whether the texts of both requests are the same.
bool have_same_texts(const Request& with, const Request& without) {
    if (!with.speculation || with.speculation->texts == nullptr)
        return false;
    const DraftTexts& texts = *with.speculation->texts;
    return texts.ngram_max() == without.speculation->lookup_ngram_max && with.prompt == without.prompt &&
           texts.prediction() == without.speculation->prediction;
}

} // namespace

void NgramIndex::add(std::span<const TokenId> text, std::size_t end) {
    for (; added_ < end; ++added_) {
        const std::size_t behind = added_ + 1;
        for (std::size_t length = 1; length <= std::min<std::size_t>(longest_, behind); ++length)
            behind_[hash_of(text.subspan(behind - length, length))] = behind;
    }
}

FoundRun NgramIndex::find(std::span<const TokenId> text, std::span<const TokenId> tail,
                          std::size_t shortest) const {
    for (std::size_t length = std::min<std::size_t>(longest_, tail.size()); length >= shortest; --length) {
        const std::span<const TokenId> run = tail.last(length);
        const auto found = behind_.find(hash_of(run));
        if (found == behind_.end() || found->second < length)
            continue;
        if (std::equal(run.begin(), run.end(), text.subspan(found->second - length, length).begin()))
            return {found->second, length};
    }
    return {};
}

DraftTexts::DraftTexts(std::span<const TokenId> prompt, std::vector<TokenId> prediction, uint32_t ngram_max)
    : ngram_max_(ngram_max), prompt_tokens_(prompt.size()),
      prompt_(prompt, ngram_max > 0 ? inner_places(prompt.size()) : 0, ngram_max),
      prediction_(std::move(prediction)), predicted_(prediction_, prediction_.size(), prediction_ngram) {}

void make_draft_texts(std::span<Request> requests, uint32_t context_tokens) {
    const Request* last = nullptr;
    for (Request& request : requests) {
        if (!looks_up(request))
            continue;
        Speculation& wish = *request.speculation;
        if (wish.prediction.size() > context_tokens)
            wish.prediction.resize(context_tokens);
        if (last != nullptr && have_same_texts(*last, request)) {
            wish.texts = last->speculation->texts;
        } else {
            wish.texts = std::make_shared<const DraftTexts>(request.prompt, std::move(wish.prediction),
                                                            wish.lookup_ngram_max);
        }
        wish.prediction = std::vector<TokenId>(); // frees the memory
        last = &request;
    }
}

DraftLookup::DraftLookup(std::shared_ptr<const DraftTexts> texts)
    : texts_(std::move(texts)),
      answer_(texts_ ? texts_->ngram_max() : 0, texts_ ? inner_places(texts_->prompt_tokens()) : 0) {}

/// Advances in the prediction while the answer agrees with it; otherwise looks for the position again.
void DraftLookup::follow_prediction(std::span<const TokenId> answer) {
    const std::vector<TokenId>& prediction = texts_->prediction();
    for (; followed_ < answer.size(); ++followed_) {
        is_on_track_ = is_on_track_ && next_ < prediction.size() && prediction[next_] == answer[followed_];
        if (is_on_track_) {
            ++next_;
            continue;
        }
        const std::size_t place = texts_->find_in_prediction(answer.first(followed_ + 1));
        is_on_track_ = place > 0;
        next_ = place;
    }
}

/// The position after the last occurrence of the longest run that the text ends with; 0: none.
std::size_t DraftLookup::find(std::span<const TokenId> tokens, std::size_t shortest) const {
    const FoundRun own = answer_.find(tokens, tokens, shortest);
    const FoundRun before = texts_->find_in_prompt(tokens, std::max(own.length + 1, shortest));
    return before.behind > 0 ? before.behind : own.behind;
}

std::vector<TokenId> DraftLookup::draft(std::span<const TokenId> tokens, uint32_t most, uint32_t ngram_min) {
    if (texts_ == nullptr)
        return {};
    if (const std::vector<TokenId>& prediction = texts_->prediction(); !prediction.empty()) {
        follow_prediction(tokens.subspan(texts_->prompt_tokens()));
        if (is_on_track_ && next_ < prediction.size()) {
            const std::size_t count = std::min<std::size_t>(most, prediction.size() - next_);
            const auto first = prediction.begin() + static_cast<std::ptrdiff_t>(next_);
            return {first, first + static_cast<std::ptrdiff_t>(count)};
        }
    }
    if (texts_->ngram_max() == 0)
        return {};
    answer_.add(tokens, tokens.size() - 1); // without the end, which is the run to look up
    const std::size_t place = find(tokens, ngram_min);
    std::vector<TokenId> drafts;
    for (std::size_t i = 0; place > 0 && i < most; ++i) { // a run that reaches the end wraps around
        const std::size_t from = place + i;
        drafts.push_back(from < tokens.size() ? tokens[from] : drafts[from - tokens.size()]);
    }
    return drafts;
}

} // namespace etna::engine
