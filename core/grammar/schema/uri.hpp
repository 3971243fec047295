#pragma once

#include <string>
#include <string_view>

namespace etna::grammar {

/// Resolves a reference against a base; absolute if the base is. Source: RFC 3986, section 5.2.
std::string resolved_uri(std::string_view base, std::string_view reference);

/// The parts before and after the `#`; the fragment may be empty.
struct SplitUri {
    std::string_view document;
    std::string_view fragment;
};
SplitUri split_fragment(std::string_view uri);

/// Decodes %41 as A. Invalid escapes remain unchanged.
std::string percent_decoded(std::string_view text);

} // namespace etna::grammar
