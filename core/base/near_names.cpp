#include "core/base/near_names.hpp"

#include <algorithm>
#include <utility>

namespace etna {
namespace {

constexpr std::size_t compared_bytes_max = 128; ///< longer names are never near misses
constexpr std::size_t suggestions_max = 3;

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

uint32_t edit_distance(std::string_view a, std::string_view b) {
    // rows[i % 3][j]: distance between the first i bytes of a and the first j bytes of b.
    std::vector<std::vector<uint32_t>> rows(3, std::vector<uint32_t>(b.size() + 1));
    for (std::size_t j = 0; j <= b.size(); ++j)
        rows[0][j] = static_cast<uint32_t>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto& row = rows[i % 3];
        const auto& previous = rows[(i - 1) % 3];
        row[0] = static_cast<uint32_t>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const uint32_t replaced = previous[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            row[j] = std::min({previous[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[a.size() % 3][b.size()];
}

std::vector<std::string> near_names(std::string_view mistyped, std::span<const std::string> names) {
    if (mistyped.empty() || mistyped.size() > compared_bytes_max)
        return {};
    const auto allowed = static_cast<uint32_t>(std::max<std::size_t>(1, mistyped.size() / 3));
    std::vector<std::pair<uint32_t, std::string>> near;
    for (const std::string& name : names) {
        if (name.size() > compared_bytes_max)
            continue;
        const uint32_t distance = edit_distance(mistyped, name);
        if (distance <= allowed ||
            (mistyped.size() > 1 && edit_distance(mistyped, name.substr(0, mistyped.size())) == 0))
            near.emplace_back(distance, name);
    }
    std::sort(near.begin(), near.end());
    std::vector<std::string> result;
    for (auto& [distance, name] : near) {
        if (result.size() < suggestions_max)
            result.push_back(std::move(name));
    }
    return result;
}

} // namespace etna
