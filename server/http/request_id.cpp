#include "server/http/request_id.hpp"

#include "server/base/ids.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace etna::server {

std::string request_id_of(const HttpRequest& request) {
    constexpr std::size_t length_max = 128;
    const std::string_view given = request.header("x-request-id");
    const bool is_valid =
        !given.empty() && given.size() <= length_max &&
        std::all_of(given.begin(), given.end(), [](char letter) { return letter > ' ' && letter <= '~'; });
    return is_valid ? std::string(given) : new_uuid();
}

} // namespace etna::server
