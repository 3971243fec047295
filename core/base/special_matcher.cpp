#include "core/base/special_matcher.hpp"

#include <algorithm>

namespace etna {
namespace {

constexpr uint32_t passes_flag = 1U << 31; ///< in the value of a name that may lie across a barrier

} // namespace

void SpecialMatcher::add(std::string_view name, TokenId token, AtBarrier at_barrier) {
    if (name.empty() || name.size() > longest_name_bytes)
        return;
    names_.add(name, token | (at_barrier == AtBarrier::passes ? passes_flag : 0U));
}

/// Returns the longest match that begins at `begin`. `barrier` is the next one after it.
std::optional<SpecialMatcher::Match> SpecialMatcher::find_at(std::string_view text, std::size_t begin,
                                                             std::size_t barrier) const {
    std::optional<Match> longest;
    SortedNames::Prefix prefix = names_.all();
    for (std::size_t end = begin; end < text.size() && !prefix.is_empty();) {
        prefix = names_.extended(prefix, text[end++]);
        const auto value = names_.value_at(prefix);
        if (value && (end <= barrier || (*value & passes_flag) != 0))
            longest = Match{begin, end, *value & ~passes_flag};
    }
    return longest;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, std::size_t from,
                                                          std::span<const std::size_t> barriers,
                                                          std::size_t until) const {
    const std::size_t end = std::min(until, text.size());
    for (std::size_t begin = from; begin < end; ++begin) {
        if (names_.extended(names_.all(), text[begin]).is_empty())
            continue;
        const auto barrier = std::upper_bound(barriers.begin(), barriers.end(), begin);
        if (const auto match = find_at(text, begin, barrier == barriers.end() ? text.size() : *barrier))
            return match;
    }
    return std::nullopt;
}

bool SpecialMatcher::is_proper_prefix(std::string_view text) const {
    SortedNames::Prefix prefix = names_.all();
    for (const char byte : text) {
        if (prefix.is_empty())
            return false;
        prefix = names_.extended(prefix, byte);
    }
    return names_.has_longer(prefix);
}

} // namespace etna
