#pragma once

#include "core/engine/cache_journal.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace etna::server::kv_events {

/// The encoding of an event.
enum class EventFormat : uint8_t {
    arrays, ///< vLLM up to 0.23: ["BlockStored", ...]; every subscriber can read it
    maps,   ///< later vLLM versions: {"type": "BlockStored", ...}
};

/// Whether partially filled pages are published. vLLM has no such pages, and its subscribers cannot use them.
enum class PartialPages : uint8_t { hidden, published };

struct BatchFormat {
    EventFormat events = EventFormat::arrays;
    PartialPages partial = PartialPages::hidden;
    uint32_t page_tokens = 0;
};

/// Returns vLLM's KVEventBatch in MessagePack: [time, [event...], 0]; empty if no event results. Consecutive
/// full pages of one text share an event. The hash of a page is the first word of its PageHash. `unix_s`: the
/// time of the changes.
std::string encode_batch(double unix_s, std::span<const engine::CacheChange> changes,
                         const BatchFormat& format);

} // namespace etna::server::kv_events
