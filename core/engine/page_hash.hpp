#pragma once

#include "core/base/bytes.hpp"
#include "core/engine/content.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace etna::engine {

/// Identifies the content of a page and of everything before it. 128 bits of a keyed pseudo-random function:
/// a chance collision is negligible (2^-64 after 2^32 pages), and one cannot be constructed without the key.
using PageHash = std::array<uint64_t, 2>;
using HashKey = std::array<uint64_t, 2>;

/// SipHash-2-4 with 128 bits of output (Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012, and the
/// authors' reference implementation for the wide output). Bytes are read in little-endian order.
PageHash sip_hash(const HashKey& key, ByteView bytes);

/// Returns the parent of a sequence's first page: covers the salts, which also decide whether pages may be
/// shared.
PageHash root_hash(const HashKey& key, uint64_t model_salt, uint64_t request_salt);

/// Returns the hash of a page that holds `content`, after the page `parent`.
PageHash page_hash(const HashKey& key, const PageHash& parent, const ContentRun& content);

/// For hash tables: the words are already random.
struct PageHashHasher {
    std::size_t operator()(const PageHash& hash) const { return static_cast<std::size_t>(hash[0]); }
};

} // namespace etna::engine
