#include "core/text/unicode.hpp"

#include <algorithm>
#include <span>

namespace etna::text {
namespace {

/// The last of the ascending entries that begins at `one` or before; null: none.
template <class Entry, class First>
const Entry* entry_before(std::span<const Entry> entries, char32_t one, First first) {
    const auto after =
        std::upper_bound(entries.begin(), entries.end(), one,
                         [&](char32_t value, const Entry& entry) { return value < first(entry); });
    return after == entries.begin() ? nullptr : &*(after - 1);
}

bool is_in(std::span<const CodePointRange> ranges, char32_t one) {
    const auto* const range = entry_before(ranges, one, [](const CodePointRange& r) { return r.first; });
    return range != nullptr && one <= range->last;
}

/// Hangul syllables (the Unicode Standard, 3.12).
constexpr char32_t hangul_first = 0xAC00;
constexpr char32_t hangul_end = 0xD7A4;
constexpr char32_t leading_first = 0x1100;
constexpr char32_t vowel_first = 0x1161;
constexpr char32_t trailing_before = 0x11A7;
constexpr char32_t vowels = 21;
constexpr char32_t trailings = 28;

} // namespace

bool is_other(char32_t one) {
    return is_in({other_ranges, other_ranges_size}, one);
}

bool is_nonspacing_mark(char32_t one) {
    return is_in({mark_ranges, mark_ranges_size}, one);
}

bool is_punctuation(char32_t one) {
    return is_in({punctuation_ranges, punctuation_ranges_size}, one);
}

bool is_white_space(char32_t one) {
    return (one >= 9 && one <= 13) || one == ' ' || one == 0x85 || one == 0xA0 || one == 0x1680 ||
           (one >= 0x2000 && one <= 0x200A) || one == 0x2028 || one == 0x2029 || one == 0x202F ||
           one == 0x205F || one == 0x3000;
}

char32_t to_lower(char32_t one) {
    const std::span<const LowerRun> runs(lower_runs, lower_runs_size);
    const auto* const run = entry_before(runs, one, [](const LowerRun& r) { return r.first; });
    if (run == nullptr || one > run->last || (one - run->first) % run->step != 0)
        return one;
    return static_cast<char32_t>(static_cast<int32_t>(one) + run->distance);
}

void append_decomposed(char32_t one, std::u32string& text) {
    if (one >= hangul_first && one < hangul_end) {
        const char32_t index = one - hangul_first;
        text.push_back(leading_first + index / (vowels * trailings));
        text.push_back(vowel_first + index % (vowels * trailings) / trailings);
        if (index % trailings != 0)
            text.push_back(trailing_before + index % trailings);
        return;
    }
    const std::span<const Decomposition> all(decompositions, decompositions_size);
    const auto* const entry = entry_before(all, one, [](const Decomposition& d) { return d.one; });
    if (entry == nullptr || entry->one != one) {
        text += one;
        return;
    }
    text.append(decomposed + entry->begin, entry->count);
}

} // namespace etna::text
