#pragma once

#include "core/base/result.hpp"
#include "core/vk/range.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::vk {

/// Finds memory hazards between steps (dispatches, copies, fills) that no barrier separates: two ranges
/// overlap and one of them is written. Accesses within one step never conflict: a shader may read what it
/// writes. Not thread-safe.
class HazardCheck {
public:
    /// Adds a step. Errors: internal (names both steps and their ranges); the step is then not added.
    Status add(std::string_view label, std::span<const Range> reads, std::span<const Range> writes);

    /// Separates all earlier steps from all later ones.
    void barrier();

private:
    struct Access {
        Range range;
        size_t step = 0; ///< into labels_
    };
    [[nodiscard]] Error conflict(const Access& earlier, std::string_view earlier_verb, std::string_view label,
                                 std::string_view verb, const Range& range) const;

    std::vector<std::string> labels_;
    std::vector<Access> reads_;
    std::vector<Access> writes_;
};

} // namespace etna::vk
