#pragma once

#include <cstdint>

namespace etna::vk {

/// Device addresses [address, address + bytes).
struct Range {
    uint64_t address = 0;
    uint64_t bytes = 0;

    bool operator==(const Range&) const = default;
    /// A subrange. Precondition: offset + length <= bytes.
    [[nodiscard]] Range part(uint64_t offset, uint64_t length) const { return {address + offset, length}; }
    [[nodiscard]] bool overlaps(const Range& other) const {
        return address < other.address + other.bytes && other.address < address + bytes;
    }
};

} // namespace etna::vk
