#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// Link options of the filter urlize.
namespace etna::jinja {

struct LinkStyle {
    int64_t shown_max = std::numeric_limits<int64_t>::max(); ///< maximum displayed characters of an address
    std::string attributes = {};                             ///< attributes of a link, each after a space
    std::vector<std::string> schemes = {}; ///< in addition to http, https and mailto: "ftp:"
};

/// Converts one word of HTML text (&, < and > are escaped) to a link if it is a web or mail address.
/// Surrounding brackets and punctuation stay outside the link.
std::string linked(const std::string& word, const LinkStyle& style);

} // namespace etna::jinja
