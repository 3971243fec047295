#pragma once

#include "core/engine/cache_journal.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace etna::server::kv_events {

/// How vLLM writes an event.
enum class EventFormat : uint8_t {
    arrays, ///< as vLLM up to 0.23: ["BlockStored", ...]; every subscriber reads it
    maps,   ///< as later versions: {"type": "BlockStored", ...}
};

/// Whether pages with fewer tokens than a page holds are published: vLLM has none, and its subscribers cannot
/// use them.
enum class PartialPages : uint8_t { hidden, published };

struct BatchFormat {
    EventFormat events = EventFormat::arrays;
    PartialPages partial = PartialPages::hidden;
    uint32_t page_tokens = 0;
};

/// Returns a batch of events as vLLM's KVEventBatch in MessagePack: [time, [event...], 0]; empty without an
/// event. Successive full pages of one text are one event. The hash of a page is the first word of its
/// PageHash. `unix_s`: the time of the changes.
std::string encode_batch(double unix_s, std::span<const engine::CacheChange> changes,
                         const BatchFormat& format);

} // namespace etna::server::kv_events
