#include "server/http/http.hpp"

#include <algorithm>

namespace etna::server {

std::string header_value(std::string_view text) {
    constexpr std::size_t length_max = 1024;
    std::string value(text.substr(0, length_max));
    std::replace_if(
        value.begin(), value.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
    return value;
}

} // namespace etna::server
