#include "server/base/lower_case.hpp"

#include <algorithm>

namespace etna::server {

std::string to_lower(std::string_view text) {
    std::string lower(text);
    for (char& letter : lower) {
        if (letter >= 'A' && letter <= 'Z')
            letter = static_cast<char>(letter - 'A' + 'a');
    }
    return lower;
}

} // namespace etna::server
