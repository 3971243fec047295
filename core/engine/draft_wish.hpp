#pragma once

#include "core/engine/page_cache.hpp"
#include "core/engine/sequence.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::engine {

/// A sequence that wants drafts of a model.
struct DraftWish {
    RequestId request = 0;
    Content content; ///< all its tokens; borrowed
    sampling::Parameters sampling;
    uint64_t cache_salt = 0;
    uint32_t most = 1; ///< tokens
    std::optional<float> confidence_min;
    bool is_caught_up = false; ///< the model has computed all but what a few steps brought
};

/// What a model made of a wish.
struct ModelDrafts {
    std::vector<TokenId> tokens;
    bool is_caught_up = false; ///< false: it has yet to compute a part of the text, and drafts nothing before
};

} // namespace etna::engine
