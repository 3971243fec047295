#include "core/grammar/memory.hpp"

#include <algorithm>

namespace etna::grammar {

uint32_t Memory::longer(uint32_t text, uint8_t byte) {
    const auto [place, is_new] =
        longer_.try_emplace(std::pair(text, byte), static_cast<uint32_t>(texts_.size()));
    if (is_new) {
        texts_.push_back({.before = text, .size = texts_[text].size + 1, .last = byte});
        bytes_ += sizeof(Text) + sizeof(*place) + 32;
    }
    return place->second;
}

uint32_t Memory::with(uint32_t set, uint32_t text) {
    std::vector<uint32_t> more = sets_[set];
    more.insert(std::lower_bound(more.begin(), more.end(), text), text);
    const auto [place, is_new] = set_numbers_.try_emplace(more, static_cast<uint32_t>(sets_.size()));
    if (is_new) {
        bytes_ += sizeof(*place) + 32 + 2 * more.size() * sizeof(uint32_t);
        sets_.push_back(std::move(more));
    }
    return place->second;
}

bool Memory::has(uint32_t set, uint32_t text) const {
    return std::binary_search(sets_[set].begin(), sets_[set].end(), text);
}

std::vector<std::string> Memory::behind(uint32_t set, uint32_t text) const {
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
