#pragma once

#include "core/base/bytes.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace etna::vk {

/// Every allocation starts at a multiple of this, and so does every buffer's address.
constexpr uint64_t allocation_alignment = 256;

/// Bytes of a block that a buffer of `bytes` takes.
constexpr uint64_t allocation_bytes(uint64_t bytes) {
    return round_up(bytes, allocation_alignment);
}

/// Tracks the free ranges of one memory block, as numbers only. Not thread-safe.
class SubAllocator {
public:
    explicit SubAllocator(uint64_t bytes);

    /// Takes `bytes` (> 0) at a multiple of `alignment` (> 0) from the smallest gap that fits and returns
    /// their offset; empty if no gap fits. The range is in use until free().
    std::optional<uint64_t> take(uint64_t bytes, uint64_t alignment);

    /// Frees a range that take() returned; it merges with adjacent gaps.
    void free(uint64_t offset, uint64_t bytes);

    [[nodiscard]] bool empty() const; ///< nothing is in use
    [[nodiscard]] uint64_t largest_gap_bytes() const;

private:
    uint64_t bytes_;
    std::map<uint64_t, uint64_t> gaps_; ///< offset -> bytes; never adjacent
};

/// Block sizes of one pool.
struct BlockPolicy {
    static constexpr uint64_t smallest_block_bytes = 16 * mebibyte;
    static constexpr uint64_t largest_block_bytes = 64 * mebibyte;

    uint64_t allocation_bytes_max = 0; ///< every allocation stays strictly below this

    /// Size of the next shared block of a pool that has already reserved `reserved_bytes`: it grows with the
    /// pool, so that small programs reserve little and large ones have few blocks.
    [[nodiscard]] uint64_t next_block_bytes(uint64_t reserved_bytes) const;
    /// Whether a request gets a dedicated allocation: above an eighth of a block, so that at most an eighth
    /// of each block but the last stays unused.
    [[nodiscard]] bool needs_own_allocation(uint64_t bytes, uint64_t reserved_bytes) const;
    [[nodiscard]] bool allows(uint64_t bytes) const { return bytes < allocation_bytes_max; }
};

/// Bytes of the blocks that an empty pool takes from the driver for buffers of these sizes, in this order.
/// Pure. Precondition: the policy allows each.
uint64_t reserved_bytes(const BlockPolicy& policy, std::span<const uint64_t> buffers);

} // namespace etna::vk
