#include "core/engine/sorted_places.hpp"

#include <algorithm>
#include <numeric>

namespace etna::engine {
namespace {

/// The number of tokens before the ends of two texts that are equal, at most `most`.
std::size_t common_end(std::span<const TokenId> one, std::span<const TokenId> other, std::size_t most) {
    const std::size_t bound = std::min({one.size(), other.size(), most});
    std::size_t common = 0;
    while (common < bound && one[one.size() - 1 - common] == other[other.size() - 1 - common])
        ++common;
    return common;
}

/// Compares the last `most` tokens of two texts, read backwards; returns a value below 0, 0 or above. A text
/// that is a suffix of the other comes first.
int compare_ends(std::span<const TokenId> one, std::span<const TokenId> other, std::size_t most) {
    const std::size_t common = common_end(one, other, most);
    if (common == most || (common == one.size() && common == other.size()))
        return 0;
    if (common == one.size() || common == other.size())
        return common == one.size() ? -1 : 1;
    return one[one.size() - 1 - common] < other[other.size() - 1 - common] ? -1 : 1;
}

} // namespace

SortedPlaces::SortedPlaces(std::span<const TokenId> text, std::size_t end, uint32_t longest)
    : longest_(longest), behind_(end), last_(2 * end) {
    std::iota(behind_.begin(), behind_.end(), 1U);
    std::sort(behind_.begin(), behind_.end(), [&](uint32_t a, uint32_t b) {
        const int order = compare_ends(text.first(a), text.first(b), longest);
        return order != 0 ? order < 0 : a < b;
    });
    std::copy(behind_.begin(), behind_.end(), last_.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t node = end; node-- > 1;)
        last_[node] = std::max(last_[2 * node], last_[2 * node + 1]);
}

FoundRun SortedPlaces::find(std::span<const TokenId> text, std::span<const TokenId> tail,
                            std::size_t shortest) const {
    // The position with the longest match is adjacent to where the tail would be inserted.
    const auto near = std::lower_bound(behind_.begin(), behind_.end(), tail, [&](uint32_t behind, auto end) {
        return compare_ends(text.first(behind), end, longest_) < 0;
    });
    std::size_t length = 0;
    if (near != behind_.end())
        length = common_end(text.first(*near), tail, longest_);
    if (near != behind_.begin())
        length = std::max(length, common_end(text.first(*(near - 1)), tail, longest_));
    if (length == 0 || length < shortest)
        return {};
    const std::span<const TokenId> run = tail.last(length);
    const auto first = std::lower_bound(behind_.begin(), behind_.end(), run, [&](uint32_t behind, auto end) {
        return compare_ends(text.first(behind), end, length) < 0;
    });
    const auto end = std::upper_bound(first, behind_.end(), run, [&](auto end_of, uint32_t behind) {
        return compare_ends(end_of, text.first(behind), length) < 0;
    });
    return {last_of(static_cast<std::size_t>(first - behind_.begin()),
                    static_cast<std::size_t>(end - behind_.begin())),
            length};
}

/// The largest position in the range of ranks.
uint32_t SortedPlaces::last_of(std::size_t first, std::size_t end) const {
    uint32_t last = 0;
    for (first += behind_.size(), end += behind_.size(); first < end; first /= 2, end /= 2) {
        if (first % 2 == 1)
            last = std::max(last, last_[first++]);
        if (end % 2 == 1)
            last = std::max(last, last_[--end]);
    }
    return last;
}

} // namespace etna::engine
