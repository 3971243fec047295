#include "core/vk/hazards.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::vk {

Status HazardCheck::add(std::string_view label, std::span<const Range> reads, std::span<const Range> writes) {
    const auto find = [](const std::vector<Access>& accesses, const Range& range) -> const Access* {
        const auto found = std::find_if(accesses.begin(), accesses.end(), [&range](const Access& earlier) {
            return range.bytes != 0 && earlier.range.overlaps(range);
        });
        return found == accesses.end() ? nullptr : &*found;
    };
    for (const Range& range : reads) {
        if (const Access* earlier = find(writes_, range))
            return conflict(*earlier, "writes", label, "reads", range);
    }
    for (const Range& range : writes) {
        if (const Access* earlier = find(writes_, range))
            return conflict(*earlier, "writes", label, "writes", range);
        if (const Access* earlier = find(reads_, range))
            return conflict(*earlier, "reads", label, "writes", range);
    }
    const size_t step = labels_.size();
    labels_.emplace_back(label);
    const auto remember = [step](std::vector<Access>& accesses, std::span<const Range> ranges) {
        for (const Range& range : ranges) {
            if (range.bytes != 0)
                accesses.push_back({range, step});
        }
    };
    remember(reads_, reads);
    remember(writes_, writes);
    return {};
}

void HazardCheck::barrier() {
    labels_.clear();
    reads_.clear();
    writes_.clear();
}

Error HazardCheck::conflict(const Access& earlier, std::string_view earlier_verb, std::string_view label,
                            std::string_view verb, const Range& range) const {
    return {ErrorKind::internal,
            fmt::format("no barrier between `{}`, which {} [{:#x}, {:#x}), and `{}`, which {} [{:#x}, {:#x})",
                        labels_[earlier.step], earlier_verb, earlier.range.address,
                        earlier.range.address + earlier.range.bytes, label, verb, range.address,
                        range.address + range.bytes)};
}

} // namespace etna::vk
