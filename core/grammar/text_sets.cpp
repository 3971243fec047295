#include "core/grammar/text_sets.hpp"

#include <algorithm>
#include <utility>

namespace etna::grammar {

uint32_t TextSets::longer(uint32_t text, uint8_t byte) {
    const auto [entry, is_new] =
        longer_.try_emplace(std::pair(text, byte), static_cast<uint32_t>(texts_.size()));
    if (is_new) {
        texts_.push_back({.before = text, .size = texts_[text].size + 1, .last = byte});
        bytes_ += sizeof(Text) + sizeof(*entry) + 32;
    }
    return entry->second;
}

uint32_t TextSets::with(uint32_t set, uint32_t text) {
    std::vector<uint32_t> more = sets_[set];
    more.insert(std::lower_bound(more.begin(), more.end(), text), text);
    const auto [entry, is_new] = set_numbers_.try_emplace(more, static_cast<uint32_t>(sets_.size()));
    if (is_new) {
        bytes_ += sizeof(*entry) + 32 + 2 * more.size() * sizeof(uint32_t);
        sets_.push_back(std::move(more));
    }
    return entry->second;
}

bool TextSets::has(uint32_t set, uint32_t text) const {
    return std::binary_search(sets_[set].begin(), sets_[set].end(), text);
}

std::vector<std::string> TextSets::rests(uint32_t set, uint32_t text) const {
    std::vector<std::string> all;
    for (uint32_t one : sets_[set]) {
        std::string rest;
        for (; texts_[one].size > texts_[text].size; one = texts_[one].before)
            rest += static_cast<char>(texts_[one].last);
        if (one == text)
            all.emplace_back(rest.rbegin(), rest.rend());
    }
    return all;
}

} // namespace etna::grammar
