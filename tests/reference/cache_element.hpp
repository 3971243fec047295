#pragma once

#include "tests/reference/operations.hpp"

#include <cstddef>

namespace etna::reference {

/// How keys and values are rounded when they are stored. All arithmetic stays in double.
enum class CacheElement {
    exact, ///< not at all
    f32,
    f16,
    q8_0, ///< 32 elements of a head (the last ones: fewer) share a scale
};
struct CacheElements {
    CacheElement keys = CacheElement::exact;
    CacheElement values = CacheElement::exact;
};

/// What is left of heads [n, head_length] after they were stored. In q8_0 as ggml's block_q8_0 has it: a
/// scale d that is a binary16, the nearest to max |x| / 127, and for each element the integer nearest to x /
/// d within -127..127.
Vector stored(View heads, CacheElement element, std::size_t head_length);

} // namespace etna::reference
