#pragma once

#include "core/base/token.hpp"
#include "core/engine/executor.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::test {

/// What one row leaves in the cache: enough to notice a place that was never written, is stale, or is
/// another's.
struct FakePlace {
    TokenId token = 0;
    uint32_t index = 0;
    engine::RowKind kind = engine::RowKind::prefill;
    bool written = false;
};

/// The model says `continuation` after `prompt`, and then repeats the last token of `continuation` for ever
/// (let it be an end token). The prompt ends with the last place that was computed as a prompt row; stretches
/// of generation rows in it are answers that the model gave before.
struct FakeScript {
    std::optional<std::vector<TokenId>> prompt = {}; ///< any prompt when empty
    std::optional<uint32_t> answers_before = {};     ///< any number when empty
    std::vector<TokenId> continuation = {};
};

/// Logits that are a pure function of everything the row attends to.
struct FakeModel {
    uint32_t vocabulary = 0;
    std::vector<FakeScript> scripts; ///< the first that fits is followed

    /// `groups[g]` holds the places [begin, index] that a row sees in cache group g; begin is 0 but for
    /// sliding windows.
    [[nodiscard]] std::vector<float> logits(std::span<const std::vector<FakePlace>> groups) const;
};

/// First place that a row at `index` sees in a group.
uint32_t first_visible(const engine::CacheGroup& group, uint32_t index);

} // namespace etna::test
