#pragma once

#include "core/engine/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace etna::engine {

/// Identifies the input at a position, for the cache: the id of a token, or a hash of anything else.
using ContentId = uint64_t;

/// Inputs of consecutive positions and the row kind that each is computed as, of equal length.
struct ContentRun {
    std::span<const ContentId> ids;
    std::span<const RowKind> kinds;

    [[nodiscard]] ContentRun part(std::size_t begin, std::size_t count) const {
        return {ids.subspan(begin, count), kinds.subspan(begin, count)};
    }
};

} // namespace etna::engine
