#include "core/base/sorted_names.hpp"

#include <algorithm>

namespace etna {

void SortedNames::add(std::string_view name, uint32_t value) {
    names_.push_back(
        {.begin = characters_.size(), .bytes = static_cast<uint32_t>(name.size()), .value = value});
    characters_.insert(characters_.end(), name.begin(), name.end());
}

void SortedNames::finish() {
    std::stable_sort(names_.begin(), names_.end(),
                     [this](const Name& a, const Name& b) { return text_of(a) < text_of(b); });
    const auto end = std::unique(names_.begin(), names_.end(),
                                 [this](const Name& a, const Name& b) { return text_of(a) == text_of(b); });
    names_.erase(end, names_.end());
    by_byte_.fill(0);
    for (const Name& name : names_)
        ++by_byte_[static_cast<uint8_t>(characters_[name.begin]) + 1U];
    for (std::size_t byte = 1; byte < by_byte_.size(); ++byte)
        by_byte_[byte] += by_byte_[byte - 1];
}

SortedNames::Prefix SortedNames::extended(const Prefix& prefix, char byte) const {
    const auto wanted = static_cast<uint8_t>(byte);
    const std::size_t depth = prefix.bytes;
    if (depth == 0)
        return {by_byte_[wanted], by_byte_[wanted + 1U], 1};
    // A name that ends here comes before those that continue.
    const auto is_before = [&](const Name& name, unsigned limit) {
        return name.bytes <= depth || static_cast<uint8_t>(characters_[name.begin + depth]) < limit;
    };
    const auto first = names_.begin() + prefix.begin;
    const auto last = names_.begin() + prefix.end;
    const auto begin =
        std::partition_point(first, last, [&](const Name& name) { return is_before(name, wanted); });
    const auto end =
        std::partition_point(begin, last, [&](const Name& name) { return is_before(name, wanted + 1U); });
    return {static_cast<uint32_t>(begin - names_.begin()), static_cast<uint32_t>(end - names_.begin()),
            depth + 1};
}

std::optional<uint32_t> SortedNames::value_at(const Prefix& prefix) const {
    if (prefix.is_empty() || names_[prefix.begin].bytes != prefix.bytes)
        return std::nullopt;
    return names_[prefix.begin].value;
}

bool SortedNames::has_longer(const Prefix& prefix) const {
    return !prefix.is_empty() && names_[prefix.end - 1].bytes > prefix.bytes;
}

} // namespace etna
