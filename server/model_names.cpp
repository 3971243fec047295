#include "server/model_names.hpp"

#include "core/store/similar.hpp"
#include "server/http.hpp"

#include <algorithm>
#include <array>

namespace etna::server {

std::string plain_name(std::string_view name) {
    constexpr std::array<std::string_view, 2> endings = {":latest", ".gguf"}; // a tag stands last
    std::string plain = in_small_letters(name);
    for (const std::string_view ending : endings) {
        if (plain.ends_with(ending) && plain.size() > ending.size())
            plain.resize(plain.size() - ending.size());
    }
    return plain;
}

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names) {
    constexpr std::size_t told_max = 3;
    std::vector<std::string> nearest = store::similar(plain_name(wanted), names);
    if (nearest.empty()) { // nothing is like it: some that there are
        nearest.assign(names.begin(),
                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), told_max)));
    }
    return nearest;
}

} // namespace etna::server
