#include "core/engine/prompt_lookup.hpp"

#include "core/engine/request.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace etna::engine {
namespace {

/// Returns the length of the longest common suffix of two texts, at most `limit`.
std::size_t common_suffix(std::span<const TokenId> one, std::span<const TokenId> other, std::size_t limit) {
    const std::size_t bound = std::min({one.size(), other.size(), limit});
    std::size_t common = 0;
    while (common < bound && one[one.size() - 1 - common] == other[other.size() - 1 - common])
        ++common;
    return common;
}

/// Compares the last `limit` tokens of two texts, read backwards; returns a value below 0, 0 or above. A text
/// that is a suffix of the other comes first.
int compare_ends(std::span<const TokenId> one, std::span<const TokenId> other, std::size_t limit) {
    const std::size_t common = common_suffix(one, other, limit);
    if (common == limit || (common == one.size() && common == other.size()))
        return 0;
    if (common == one.size() || common == other.size())
        return common == one.size() ? -1 : 1;
    return one[one.size() - 1 - common] < other[other.size() - 1 - common] ? -1 : 1;
}

constexpr uint32_t prediction_ngram = 3; ///< longest n-gram that relocates the answer in a prediction

/// FNV-1a over length and tokens; a hit is checked by comparing the tokens.
uint64_t hash_of(std::span<const TokenId> ngram) {
    uint64_t hash = 0xcbf29ce484222325U ^ ngram.size();
    for (const TokenId token : ngram)
        hash = (hash ^ token) * 0x100000001b3U;
    return hash;
}

/// Returns the number of prompt positions before the last: its end is the n-gram to look up.
std::size_t followed_positions(std::size_t prompt_tokens) {
    return prompt_tokens - std::min<std::size_t>(prompt_tokens, 1);
}

bool looks_up(const Request& request) {
    const auto& options = request.speculation;
    return options && options->texts == nullptr && !request.beams &&
           (options->lookup_ngram_max > 0 || !options->prediction.empty());
}

/// Whether both requests look up drafts in the same texts.
bool have_same_texts(const Request& with, const Request& without) {
    if (!with.speculation || with.speculation->texts == nullptr)
        return false;
    const DraftTexts& texts = *with.speculation->texts;
    return texts.ngram_max() == without.speculation->lookup_ngram_max && with.prompt == without.prompt &&
           texts.prediction() == without.speculation->prediction;
}

} // namespace

SuffixIndex::SuffixIndex(std::span<const TokenId> text, std::size_t end, uint32_t length_max)
    : length_max_(length_max), ends_(end), last_(2 * end) {
    std::iota(ends_.begin(), ends_.end(), 1U);
    std::sort(ends_.begin(), ends_.end(), [&](uint32_t a, uint32_t b) {
        const int order = compare_ends(text.first(a), text.first(b), length_max);
        return order != 0 ? order < 0 : a < b;
    });
    std::copy(ends_.begin(), ends_.end(), last_.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t node = end; node-- > 1;)
        last_[node] = std::max(last_[2 * node], last_[2 * node + 1]);
}

NgramMatch SuffixIndex::find(std::span<const TokenId> text, std::span<const TokenId> tail,
                             std::size_t length_min) const {
    // The position with the longest match is adjacent to where the tail would be inserted.
    const auto near = std::lower_bound(ends_.begin(), ends_.end(), tail, [&](uint32_t end, auto suffix) {
        return compare_ends(text.first(end), suffix, length_max_) < 0;
    });
    std::size_t length = 0;
    if (near != ends_.end())
        length = common_suffix(text.first(*near), tail, length_max_);
    if (near != ends_.begin())
        length = std::max(length, common_suffix(text.first(*(near - 1)), tail, length_max_));
    if (length == 0 || length < length_min)
        return {};
    const std::span<const TokenId> ngram = tail.last(length);
    const auto first = std::lower_bound(ends_.begin(), ends_.end(), ngram, [&](uint32_t end, auto suffix) {
        return compare_ends(text.first(end), suffix, length) < 0;
    });
    const auto last = std::upper_bound(first, ends_.end(), ngram, [&](auto suffix, uint32_t end) {
        return compare_ends(suffix, text.first(end), length) < 0;
    });
    return {last_of(static_cast<std::size_t>(first - ends_.begin()),
                    static_cast<std::size_t>(last - ends_.begin())),
            length};
}

/// Returns the largest position in the range of ranks.
uint32_t SuffixIndex::last_of(std::size_t first, std::size_t end) const {
    uint32_t last = 0;
    for (first += ends_.size(), end += ends_.size(); first < end; first /= 2, end /= 2) {
        if (first % 2 == 1)
            last = std::max(last, last_[first++]);
        if (end % 2 == 1)
            last = std::max(last, last_[--end]);
    }
    return last;
}

void NgramIndex::add(std::span<const TokenId> text, std::size_t end) {
    for (; added_ < end; ++added_) {
        const std::size_t after = added_ + 1;
        for (std::size_t length = 1; length <= std::min<std::size_t>(length_max_, after); ++length)
            ends_[hash_of(text.subspan(after - length, length))] = after;
    }
}

NgramMatch NgramIndex::find(std::span<const TokenId> text, std::span<const TokenId> tail,
                            std::size_t length_min) const {
    for (std::size_t length = std::min<std::size_t>(length_max_, tail.size()); length >= length_min;
         --length) {
        const std::span<const TokenId> ngram = tail.last(length);
        const auto found = ends_.find(hash_of(ngram));
        if (found == ends_.end() || found->second < length)
            continue;
        if (std::equal(ngram.begin(), ngram.end(), text.subspan(found->second - length, length).begin()))
            return {found->second, length};
    }
    return {};
}

DraftTexts::DraftTexts(std::span<const TokenId> prompt, std::vector<TokenId> prediction, uint32_t ngram_max)
    : ngram_max_(ngram_max), prompt_tokens_(prompt.size()),
      prompt_(prompt, ngram_max > 0 ? followed_positions(prompt.size()) : 0, ngram_max),
      prediction_(std::move(prediction)), predicted_(prediction_, prediction_.size(), prediction_ngram) {}

void make_draft_texts(std::span<Request> requests, uint32_t context_tokens) {
    const Request* last = nullptr;
    for (Request& request : requests) {
        if (!looks_up(request))
            continue;
        Speculation& options = *request.speculation;
        if (options.prediction.size() > context_tokens)
            options.prediction.resize(context_tokens);
        if (last != nullptr && have_same_texts(*last, request)) {
            options.texts = last->speculation->texts;
        } else {
            options.texts = std::make_shared<const DraftTexts>(request.prompt, std::move(options.prediction),
                                                               options.lookup_ngram_max);
        }
        options.prediction = std::vector<TokenId>(); // frees the memory
        last = &request;
    }
}

PromptLookup::PromptLookup(std::shared_ptr<const DraftTexts> texts)
    : texts_(std::move(texts)),
      answer_(texts_ ? texts_->ngram_max() : 0, texts_ ? followed_positions(texts_->prompt_tokens()) : 0) {}

/// Advances in the prediction while the answer agrees with it; otherwise searches for the position.
void PromptLookup::follow_prediction(std::span<const TokenId> answer) {
    const std::vector<TokenId>& prediction = texts_->prediction();
    for (; compared_ < answer.size(); ++compared_) {
        is_on_track_ = is_on_track_ && next_ < prediction.size() && prediction[next_] == answer[compared_];
        if (is_on_track_) {
            ++next_;
            continue;
        }
        const std::size_t position = texts_->find_in_prediction(answer.first(compared_ + 1));
        is_on_track_ = position > 0;
        next_ = position;
    }
}

/// Returns the position after the last occurrence of the longest n-gram that the text ends with; 0: none.
std::size_t PromptLookup::find(std::span<const TokenId> tokens, std::size_t length_min) const {
    const NgramMatch in_answer = answer_.find(tokens, tokens, length_min);
    const NgramMatch in_prompt = texts_->find_in_prompt(tokens, std::max(in_answer.length + 1, length_min));
    return in_prompt.end > 0 ? in_prompt.end : in_answer.end;
}

std::vector<TokenId> PromptLookup::draft(std::span<const TokenId> tokens, uint32_t limit,
                                         uint32_t ngram_min) {
    if (texts_ == nullptr)
        return {};
    if (const std::vector<TokenId>& prediction = texts_->prediction(); !prediction.empty()) {
        follow_prediction(tokens.subspan(texts_->prompt_tokens()));
        if (is_on_track_ && next_ < prediction.size()) {
            const std::size_t count = std::min<std::size_t>(limit, prediction.size() - next_);
            const auto first = prediction.begin() + static_cast<std::ptrdiff_t>(next_);
            return {first, first + static_cast<std::ptrdiff_t>(count)};
        }
    }
    if (texts_->ngram_max() == 0)
        return {};
    answer_.add(tokens, tokens.size() - 1); // without the last position: its n-gram is looked up
    const std::size_t position = find(tokens, ngram_min);
    std::vector<TokenId> drafts;
    for (std::size_t i = 0; position > 0 && i < limit; ++i) { // a match that reaches the end wraps around
        const std::size_t from = position + i;
        drafts.push_back(from < tokens.size() ? tokens[from] : drafts[from - tokens.size()]);
    }
    return drafts;
}

} // namespace etna::engine
