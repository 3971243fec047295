#pragma once

#include "core/engine/page_cache.hpp"
#include "core/engine/sequence.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <optional>

namespace etna::engine {

/// A sequence that wants drafts of a model.
struct DraftWish {
    RequestId request = 0;
    Content content; ///< all its tokens; borrowed
    sampling::Parameters sampling;
    uint64_t cache_salt = 0;
    uint32_t most = 1; ///< tokens
    std::optional<float> confidence_min;
};

} // namespace etna::engine
