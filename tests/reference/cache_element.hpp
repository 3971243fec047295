#pragma once

#include "tests/reference/operations.hpp"

#include <cstddef>

namespace etna::reference {

/// How keys and values are rounded when they are stored.
enum class CacheElement {
    exact, ///< not at all
    f32,
    f16,
    q8_0, ///< 32 elements of a head (the last ones: fewer) share a scale
};
struct CacheElements {
    CacheElement keys = CacheElement::exact;
    CacheElement values = CacheElement::exact;
    /// Heads whose length is a multiple of it, up to 256, are read by matrix units where linear layers run on
    /// them (AttentionShape::in_half); 0: none.
    std::size_t matrix_heads = 0;
};

/// Heads [n, head_length] after storing and loading them. q8_0 is ggml's block_q8_0: a binary16 scale d, the
/// nearest to max |x| / 127, and for each element the integer nearest to x / d within -127..127.
Vector stored(View heads, CacheElement element, std::size_t head_length);

} // namespace etna::reference
