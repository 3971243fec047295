#include "core/gguf/name_index.hpp"

#include <algorithm>

namespace etna::gguf {

NameIndex::NameIndex(const std::vector<std::string_view>& names) {
    sorted_.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        sorted_.emplace_back(names[i], i);
    std::sort(sorted_.begin(), sorted_.end());
}

std::optional<std::string_view> NameIndex::duplicate() const {
    const auto found = std::adjacent_find(sorted_.begin(), sorted_.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (found == sorted_.end())
        return std::nullopt;
    return found->first;
}

std::optional<std::size_t> NameIndex::find(std::string_view name) const {
    const auto found = std::lower_bound(
        sorted_.begin(), sorted_.end(), name,
        [](const auto& entry, std::string_view name_sought) { return entry.first < name_sought; });
    if (found == sorted_.end() || found->first != name)
        return std::nullopt;
    return found->second;
}

} // namespace etna::gguf
