#pragma once

#include <string>
#include <string_view>

namespace etna::server {

/// Lower-cases ASCII letters: header names, hosts and schemes are case-insensitive.
std::string to_lower(std::string_view text);

} // namespace etna::server
