#include "core/vk/hazards.hpp"

#include <algorithm>
#include <iterator>

namespace etna::vk {
namespace {

bool overlap(std::span<const Range> some, std::span<const Range> others) {
    return std::ranges::any_of(some, [&](const Range& one) {
        return one.bytes != 0 &&
               std::ranges::any_of(others, [&](const Range& other) { return one.overlaps(other); });
    });
}

void append(std::vector<Range>& all, std::span<const Range> some) {
    std::ranges::copy_if(some, std::back_inserter(all), [](const Range& one) { return one.bytes != 0; });
}

} // namespace

bool Hazards::conflict(std::span<const Range> reads, std::span<const Range> writes) const {
    return overlap(reads, writes_) || overlap(writes, writes_) || overlap(writes, reads_);
}

void Hazards::add(std::span<const Range> reads, std::span<const Range> writes) {
    append(reads_, reads);
    append(writes_, writes);
}

void Hazards::clear() {
    reads_.clear();
    writes_.clear();
}

} // namespace etna::vk
