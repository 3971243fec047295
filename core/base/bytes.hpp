#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace etna {

using ByteView = std::span<const std::byte>;
using MutableByteView = std::span<std::byte>;

constexpr uint64_t kibibyte = 1024;
constexpr uint64_t mebibyte = 1024 * kibibyte;
constexpr uint64_t gibibyte = 1024 * mebibyte;

/// Sum and product of sizes from untrusted sources; empty on overflow.
constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
    if (a > std::numeric_limits<uint64_t>::max() - b)
        return std::nullopt;
    return a + b;
}
constexpr std::optional<uint64_t> checked_multiply(uint64_t a, uint64_t b) {
    if (b != 0 && a > std::numeric_limits<uint64_t>::max() / b)
        return std::nullopt;
    return a * b;
}

/// Smallest multiple of `alignment` (not zero) that is not below `value`.
constexpr uint64_t round_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}
constexpr uint32_t divide_up(uint32_t value, uint32_t divisor) {
    return value / divisor + (value % divisor != 0 ? 1 : 0);
}

} // namespace etna
