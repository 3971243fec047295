#pragma once

#include <string>

// Properties of code points, by the version of Unicode that libutf8proc has.
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

} // namespace etna::text
