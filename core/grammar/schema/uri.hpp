#pragma once

#include <string>
#include <string_view>

namespace etna::grammar {

/// A reference as seen from a base: absolute where the base is. Source: RFC 3986, section 5.2.
std::string resolved_uri(std::string_view base, std::string_view reference);

/// What stands before and behind the `#`; the second is empty where there is none.
struct SplitUri {
    std::string_view document;
    std::string_view fragment;
};
SplitUri split_fragment(std::string_view uri);

/// With %41 as A. What is no escape stays as it is.
std::string percent_decoded(std::string_view text);

} // namespace etna::grammar
