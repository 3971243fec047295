#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/engine/content.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/page_hash.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// A prompt consists of segments: tokens, and between them embeddings of an encoder. A request stores the
// segments flat, with a token id at every position, so that everything after admission asks by position.
namespace etna::engine {

/// The token id at a position that holds an embedding. Penalties and drafts ignore it.
constexpr TokenId no_token = UINT32_MAX;

/// The range that the rows of a segment attend to.
enum class AttentionSpan : uint8_t {
    causal,  ///< everything up to themselves
    segment, ///< everything up to the end of the segment, which is then computed in one step
};

/// Rotary position of up to four components; a text model uses the first.
using RopePosition = std::array<uint32_t, 4>;

/// 128 bits of a cryptographic hash of a medium's content and of everything that its embeddings depend on,
/// such as encoder and resolution.
using ContentHash = std::array<uint64_t, 2>;

/// Embeddings at consecutive positions of a prompt, such as those of an image.
struct EmbeddingSegment {
    uint32_t position = 0; ///< of the first
    uint32_t count = 0;    ///< at least 1
    /// f32 [count, Limits::width], without the scale that some models apply to the embeddings of tokens.
    std::shared_ptr<const std::vector<float>> embeddings = {};
    ContentHash hash{}; ///< equal hashes imply equal embeddings
    AttentionSpan attention = AttentionSpan::causal;

    [[nodiscard]] uint32_t end() const { return position + count; }
    /// The embedding at position `at`.
    [[nodiscard]] std::span<const float> row(uint32_t at) const {
        const std::size_t width = embeddings->size() / count;
        return std::span(*embeddings).subspan((at - position) * width, width);
    }
};

/// Returns the size of the largest segment with AttentionSpan::segment: it fits in a step together with the
/// rows of all other sequences. With an encoder none of them generates.
[[nodiscard]] constexpr uint32_t whole_segment_max(const Limits& limits) {
    if (limits.is_encoder)
        return limits.batch_rows_max;
    return limits.batch_rows_max -
           (std::min({limits.sequences_max, limits.batch_rows_max, limits.output_rows_max}) - 1);
}

/// Checks that segments fit a prompt of `tokens` and the model. Errors: invalid_argument, naming the segment.
Status check(std::span<const EmbeddingSegment> segments, std::span<const TokenId> tokens,
             const Limits& limits);

/// Returns the segment at a position; null: none.
const EmbeddingSegment* segment_at(std::span<const EmbeddingSegment> segments, uint32_t position);

/// Returns the content id of a position: its input, or a keyed hash of the input and a rotary position that
/// differs from the position.
ContentId content_id(ContentId input, uint32_t position, const RopePosition& rope, const HashKey& key);

/// Returns the content id of each position of a prompt: its token; or, for an embedding or a rotary position
/// that differs from the position, a keyed hash. `rope_positions`: of each position, or empty.
std::vector<ContentId> content_ids(std::span<const TokenId> tokens,
                                   std::span<const EmbeddingSegment> segments,
                                   std::span<const RopePosition> rope_positions, const HashKey& key);

} // namespace etna::engine
