#pragma once

#include "core/base/token.hpp"
#include "core/engine/executor.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::test {

/// The cache entry of one row: enough to detect a position that was never written, is stale, or belongs to
/// another sequence.
struct FakeEntry {
    TokenId token = 0;
    uint32_t index = 0;
    engine::RowKind kind = engine::RowKind::prefill;
    bool written = false;
};

/// The model generates `continuation` after `prompt`, and then repeats the last token of `continuation`
/// (use an end token). The prompt ends with the last position computed as a prefill row; stretches of decode
/// rows in it are earlier answers of the model.
struct FakeScript {
    std::optional<std::vector<TokenId>> prompt = {}; ///< any prompt when empty
    std::optional<uint32_t> answers_before = {};     ///< any number when empty
    std::vector<TokenId> continuation = {};
};

/// Logits that are a pure function of everything the row attends to.
struct FakeModel {
    uint32_t vocabulary = 0;
    std::vector<FakeScript> scripts; ///< the first match is used

    /// `groups[g]` holds the positions [begin, index] that a row attends to in cache group g; begin is 0
    /// except in sliding windows.
    [[nodiscard]] std::vector<float> logits(std::span<const std::vector<FakeEntry>> groups) const;
};

/// First position that a row at `index` attends to in a group.
uint32_t first_visible(const engine::CacheGroup& group, uint32_t index);

} // namespace etna::test
