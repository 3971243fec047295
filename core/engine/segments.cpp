#include "core/engine/segments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

namespace etna::engine {
namespace {

Error refused(std::size_t segment, const std::string& what, const char* hint = "") {
    return {ErrorKind::invalid_argument, fmt::format("embedding segment {}: {}", segment, what), hint};
}

Status check_size(const EmbeddingSegment& segment, std::size_t index, const Limits& limits) {
    const std::size_t values = segment.embeddings == nullptr ? 0 : segment.embeddings->size();
    if (segment.count == 0)
        return refused(index, "it has no embeddings");
    if (values != uint64_t{segment.count} * limits.width) {
        return refused(index,
                       fmt::format("{} values for {} embeddings; the width of the model is {}", values,
                                   segment.count, limits.width),
                       "use the encoder that belongs to the model");
    }
    const auto& all = *segment.embeddings;
    if (!std::all_of(all.begin(), all.end(), [](float value) { return std::isfinite(value); }))
        return refused(index, "it contains values that are not finite");
    if (limits.embeddings_max == 0) {
        return refused(index, "no memory is reserved for embeddings",
                       "load the model with embeddings_max above 0");
    }
    if (segment.attention == AttentionSpan::causal)
        return {};
    const uint32_t max = std::min(whole_segment_max(limits), limits.embeddings_max);
    if (segment.count > max) {
        return refused(index,
                       fmt::format("{} embeddings that attend to each other, but at most {} fit a step",
                                   segment.count, max),
                       "use a smaller image, or load the model with larger batches");
    }
    return {};
}

/// The last word of a hashed message, so that equal words of different kinds have different hashes.
constexpr uint64_t media_domain = 1;
constexpr uint64_t rope_domain = 2;

/// SipHash of a few words.
ContentId hash_words(const HashKey& key, std::span<const uint64_t> words) {
    return sip_hash(key, std::as_bytes(words))[0];
}

} // namespace

Status check(std::span<const EmbeddingSegment> segments, std::span<const TokenId> tokens,
             const Limits& limits) {
    uint64_t end = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const EmbeddingSegment& one = segments[i];
        if (one.position < end)
            return refused(i, "it overlaps the one before, or is out of order");
        end = uint64_t{one.position} + one.count;
        if (end > tokens.size())
            return refused(i, fmt::format("it ends at {} in a prompt of {} positions", end, tokens.size()));
        ETNA_CHECK(check_size(one, i, limits));
    }
    for (uint32_t position = 0; position < tokens.size(); ++position) {
        const bool has_embedding = segment_at(segments, position) != nullptr;
        if (has_embedding != (tokens[position] == no_token)) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("position {} of the prompt has {}", position,
                                     has_embedding ? "both a token and an embedding"
                                                   : "neither a token nor an embedding")};
        }
    }
    return {};
}

const EmbeddingSegment* segment_at(std::span<const EmbeddingSegment> segments, uint32_t position) {
    const auto after =
        std::upper_bound(segments.begin(), segments.end(), position,
                         [](uint32_t at, const EmbeddingSegment& segment) { return at < segment.position; });
    if (after == segments.begin() || position >= std::prev(after)->end())
        return nullptr;
    return &*std::prev(after);
}

ContentId content_id(ContentId input, uint32_t position, const RopePosition& rope, const HashKey& key) {
    if (rope == RopePosition{position, position, position, position})
        return input;
    const std::array<uint64_t, 6> words = {input, rope[0], rope[1], rope[2], rope[3], rope_domain};
    return hash_words(key, words);
}

std::vector<ContentId> content_ids(std::span<const TokenId> tokens,
                                   std::span<const EmbeddingSegment> segments,
                                   std::span<const RopePosition> rope_positions, const HashKey& key) {
    std::vector<ContentId> ids(tokens.begin(), tokens.end());
    for (const EmbeddingSegment& segment : segments) {
        for (uint32_t i = 0; i < segment.count; ++i) {
            const std::array<uint64_t, 6> words = {
                segment.hash[0], segment.hash[1], segment.count, i, static_cast<uint64_t>(segment.attention),
                media_domain};
            ids[segment.position + i] = hash_words(key, words);
        }
    }
    for (uint32_t i = 0; i < rope_positions.size(); ++i)
        ids[i] = content_id(ids[i], i, rope_positions[i], key);
    return ids;
}

} // namespace etna::engine
