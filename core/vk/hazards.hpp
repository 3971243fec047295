#pragma once

#include "core/vk/range.hpp"

#include <span>
#include <vector>

namespace etna::vk {

/// The accesses of the steps (dispatches, copies, fills) since the last barrier, to find out whether the next
/// step needs one: two ranges overlap, and one of them is written. Accesses within one step never conflict: a
/// shader may read what it writes. Not thread-safe.
class Hazards {
public:
    /// Whether a step conflicts with one since the last barrier. Linear in the number of their ranges.
    [[nodiscard]] bool conflict(std::span<const Range> reads, std::span<const Range> writes) const;

    /// Adds a step.
    void add(std::span<const Range> reads, std::span<const Range> writes);

    /// Separates all earlier steps from all later ones.
    void clear();

private:
    std::vector<Range> reads_;
    std::vector<Range> writes_;
};

} // namespace etna::vk
