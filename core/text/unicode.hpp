#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

namespace etna::text {

/// Whether a code point is of category Cc, Cf or Co (control, format, private use), Mn (nonspacing mark) or
/// P (punctuation), or has the property White_Space.
bool is_other(char32_t one);
bool is_nonspacing_mark(char32_t one);
bool is_punctuation(char32_t one);
bool is_white_space(char32_t one);

/// Returns the simple lower case.
char32_t to_lower(char32_t one);

/// Appends the canonical decomposition (NFD), without reordering marks.
void append_decomposed(char32_t one, std::u32string& text);

// The tables, in unicode_data.cpp; ascending.
struct CodePointRange {
    char32_t first = 0;
    char32_t last = 0;
};
/// Every `step`-th code point of a range has its lower case `distance` further.
struct LowerRun {
    char32_t first = 0;
    char32_t last = 0;
    uint32_t step = 1;
    int32_t distance = 0;
};
/// `count` elements of `decomposed` from `begin` on.
struct Decomposition {
    char32_t one = 0;
    uint16_t begin = 0;
    uint16_t count = 0;
};
extern const CodePointRange other_ranges[];
extern const std::size_t other_ranges_size;
extern const CodePointRange mark_ranges[];
extern const std::size_t mark_ranges_size;
extern const CodePointRange punctuation_ranges[];
extern const std::size_t punctuation_ranges_size;
extern const LowerRun lower_runs[];
extern const std::size_t lower_runs_size;
extern const Decomposition decompositions[];
extern const std::size_t decompositions_size;
extern const char32_t decomposed[];

} // namespace etna::text
