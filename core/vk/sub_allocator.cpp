#include "core/vk/sub_allocator.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <vector>

namespace etna::vk {

SubAllocator::SubAllocator(uint64_t bytes) : bytes_(bytes), gaps_{{0, bytes}} {}

std::optional<uint64_t> SubAllocator::take(uint64_t bytes, uint64_t alignment) {
    assert(bytes > 0 && alignment > 0);
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
        const uint64_t lead = round_up(gap->first, alignment) - gap->first;
        if (lead >= gap->second || bytes > gap->second - lead)
            continue;
        if (best == gaps_.end() || gap->second < best->second)
            best = gap;
    }
    if (best == gaps_.end())
        return std::nullopt;
    const auto [gap_offset, gap_bytes] = *best;
    const uint64_t offset = round_up(gap_offset, alignment);
    gaps_.erase(best);
    if (offset > gap_offset)
        gaps_[gap_offset] = offset - gap_offset;
    if (const uint64_t rest = gap_offset + gap_bytes - (offset + bytes); rest > 0)
        gaps_[offset + bytes] = rest;
    return offset;
}

void SubAllocator::free(uint64_t offset, uint64_t bytes) {
    auto after = gaps_.lower_bound(offset);
    assert(offset + bytes <= bytes_ && (after == gaps_.end() || offset + bytes <= after->first));
    if (after != gaps_.end() && after->first == offset + bytes) {
        bytes += after->second;
        after = gaps_.erase(after);
    }
    if (after != gaps_.begin()) {
        const auto before = std::prev(after);
        assert(before->first + before->second <= offset);
        if (before->first + before->second == offset) {
            before->second += bytes;
            return;
        }
    }
    gaps_[offset] = bytes;
}

bool SubAllocator::empty() const {
    return gaps_.size() == 1 && gaps_.begin()->second == bytes_;
}

uint64_t SubAllocator::largest_gap_bytes() const {
    uint64_t largest = 0;
    for (const auto& [offset, bytes] : gaps_)
        largest = std::max(largest, bytes);
    return largest;
}

uint64_t BlockPolicy::next_block_bytes(uint64_t reserved_bytes) const {
    const uint64_t proportional =
        std::clamp(std::bit_floor(reserved_bytes), smallest_block_bytes, largest_block_bytes);
    const uint64_t allowed = allocation_bytes_max == 0 ? 0 : allocation_bytes_max - 1;
    return std::min(proportional, allowed / allocation_alignment * allocation_alignment);
}

bool BlockPolicy::needs_own_allocation(uint64_t bytes, uint64_t reserved_bytes) const {
    return bytes > next_block_bytes(reserved_bytes) / 8;
}

uint64_t reserved_bytes(const BlockPolicy& policy, std::span<const uint64_t> buffers) {
    uint64_t reserved = 0;
    std::vector<SubAllocator> blocks;
    for (const uint64_t buffer : buffers) {
        const uint64_t bytes = allocation_bytes(buffer);
        const auto has_room = [&](SubAllocator& block) {
            return block.take(bytes, allocation_alignment).has_value();
        };
        if (std::any_of(blocks.begin(), blocks.end(), has_room))
            continue;
        if (policy.needs_own_allocation(bytes, reserved)) {
            reserved += bytes;
            continue;
        }
        const uint64_t block_bytes = policy.next_block_bytes(reserved);
        reserved += block_bytes;
        blocks.emplace_back(block_bytes);
        has_room(blocks.back());
    }
    return reserved;
}

} // namespace etna::vk
