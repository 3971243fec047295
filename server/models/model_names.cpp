#include "server/models/model_names.hpp"

#include "core/store/near_names.hpp"
#include "server/http/http.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server {

std::string plain_name(std::string_view name) {
    constexpr std::array<std::string_view, 2> endings = {":latest", ".gguf"}; // a tag is last
    std::string plain = in_small_letters(name);
    for (const std::string_view ending : endings) {
        if (plain.ends_with(ending) && plain.size() > ending.size())
            plain.resize(plain.size() - ending.size());
    }
    return plain;
}

std::string served_names(std::string_view wanted, std::span<const std::string> names) {
    constexpr std::size_t listed_max = 8;
    constexpr std::size_t nearest_max = 3;
    if (names.size() <= listed_max)
        return fmt::format("this server has `{}`", fmt::join(names, "`, `"));
    std::vector<std::string> nearest = store::near_names(plain_name(wanted), names);
    if (nearest.empty()) // nothing is similar: list the first ones
        nearest.assign(names.begin(), names.begin() + nearest_max);
    return fmt::format("this server has `{}` and others (GET /v1/models)", fmt::join(nearest, "`, `"));
}

} // namespace etna::server
