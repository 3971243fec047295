#pragma once

#include <string_view>

namespace etna::server {

/// The HTML of GET / for programs that are no browser. It contains nothing specific to this server, because
/// no key is required.
std::string_view front_page();

} // namespace etna::server
