#pragma once

#include "core/base/bytes.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace etna::vk {

/// Every allocation starts at a multiple of this, and so does every buffer's address.
constexpr uint64_t allocation_alignment = 256;

/// Which parts of one block of memory are taken. Knows numbers only. Not thread-safe.
class BlockSpace {
public:
    explicit BlockSpace(uint64_t bytes);

    /// Offset of `bytes` (> 0) unused bytes at a multiple of `alignment` (> 0) in the smallest gap that has
    /// them; empty when none has. The part is taken until give_back().
    std::optional<uint64_t> take(uint64_t bytes, uint64_t alignment);

    /// Returns a part that take() gave; it joins the gaps on both sides.
    void give_back(uint64_t offset, uint64_t bytes);

    [[nodiscard]] bool empty() const; ///< nothing is taken
    [[nodiscard]] uint64_t largest_gap_bytes() const;

private:
    uint64_t bytes_;
    std::map<uint64_t, uint64_t> gaps_; ///< offset -> bytes; never adjacent
};

/// How large the blocks of one pool are.
struct BlockPolicy {
    static constexpr uint64_t smallest_block_bytes = 16 * mebibyte;
    static constexpr uint64_t largest_block_bytes = 256 * mebibyte;

    uint64_t allocation_bytes_max = 0; ///< every allocation stays strictly below this

    /// Size of the next shared block of a pool that holds `reserved_bytes` already: small programs take
    /// little, large ones few blocks.
    [[nodiscard]] uint64_t next_block_bytes(uint64_t reserved_bytes) const;
    /// Whether a request is so large that it gets an allocation of its own: above half a block.
    [[nodiscard]] bool needs_own_allocation(uint64_t bytes, uint64_t reserved_bytes) const;
    [[nodiscard]] bool allows(uint64_t bytes) const { return bytes < allocation_bytes_max; }
};

} // namespace etna::vk
