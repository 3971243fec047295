#pragma once

#include "core/engine/sequence.hpp"
#include "core/engine/state_cache.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::engine {

/// The tokens of a sequence and the row kind that each is computed as, of equal length.
struct TokenRun {
    std::span<const TokenId> tokens;
    std::span<const RowKind> kinds;
};

/// A request for drafts of the draft model.
struct DraftRequest {
    RequestId request = 0;
    TokenRun text; ///< all tokens of the sequence; borrowed
    sampling::Parameters sampling;
    uint64_t cache_salt = 0;
    uint32_t tokens_max = 1; ///< maximum number of drafts
    std::optional<float> confidence_min;
    bool is_caught_up = false; ///< the draft model has computed all but the tokens of a few steps
};

/// The draft model's result for a DraftRequest.
struct ModelDrafts {
    std::vector<TokenId> tokens;
    bool is_caught_up = false; ///< false: part of the text is not computed yet, so nothing is drafted
};

} // namespace etna::engine
