#pragma once

#include "core/base/token.hpp"
#include "core/engine/executor.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::test {

/// The cache entry of one row: enough to detect an entry that was never written, is stale, or belongs
/// to another sequence.
struct FakeEntry {
    TokenId token = 0;
    uint32_t position = 0;
    engine::RowKind kind = engine::RowKind::prefill;
    bool written = false;
};

/// Returns the FakeEntry::token of an embedding: a hash of its numbers, above every token id.
TokenId fake_token(std::span<const float> embedding);

/// An answer of the model: `continuation` after `prompt`, and then the last token of `continuation` again and
/// again, so that it should be an end token. The prompt ends with the last prefill row; runs of decode rows
/// in it are earlier answers.
struct FakeScript {
    std::optional<std::vector<TokenId>> prompt = {}; ///< empty: any prompt
    std::optional<uint32_t> answers_before = {};     ///< empty: any number
    std::vector<TokenId> continuation = {};
};

/// Logits that are a pure function of everything the row attends to.
struct FakeModel {
    uint32_t vocabulary = 0;
    std::vector<FakeScript> scripts; ///< the first match is used

    /// `groups[g]`: the entries that a row attends to in cache group g, its own among them.
    [[nodiscard]] std::vector<float> logits(std::span<const std::vector<FakeEntry>> groups) const;

    /// A hidden state of `width` numbers of the same entries.
    [[nodiscard]] std::vector<float> hidden(std::span<const std::vector<FakeEntry>> groups,
                                            uint32_t width) const;
};

} // namespace etna::test
