#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// What the filter urlize takes for an address.
namespace etna::chat::jinja {

struct LinkStyle {
    int64_t shown_max = std::numeric_limits<int64_t>::max(); ///< characters of an address that are shown
    std::string attributes = {};                             ///< of a link, each after a space
    std::vector<std::string> schemes = {};                   ///< beyond http, https and mailto: "ftp:"
};

/// One word of HTML text (its &, < and > are references), as a link where it is an address of the web or of
/// mail. Brackets and punctuation around it stay outside.
std::string linked(const std::string& word, const LinkStyle& style);

} // namespace etna::chat::jinja
