#pragma once

#include "core/engine/page_cache.hpp"
#include "core/engine/sequence.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::engine {

/// A sequence that requests drafts from the draft model.
struct DraftWish {
    RequestId request = 0;
    Content content; ///< all its tokens; borrowed
    sampling::Parameters sampling;
    uint64_t cache_salt = 0;
    uint32_t most = 1; ///< maximum number of tokens
    std::optional<float> confidence_min;
    bool is_caught_up = false; ///< the draft model has computed all but the tokens of a few steps
};

/// The draft model's result for a wish.
struct ModelDrafts {
    std::vector<TokenId> tokens;
    bool is_caught_up = false; ///< false: part of the text is not computed yet, so nothing is drafted
};

} // namespace etna::engine
