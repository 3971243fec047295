#pragma once

#include "tests/reference/operations.hpp"

#include <cstddef>

namespace etna::reference {

/// Grouped query attention (Ainslie et al., arXiv 2305.13245): query heads h share the key and value head
/// h / (heads / kv_heads).
struct AttentionShape {
    std::size_t heads = 1;
    std::size_t kv_heads = 1; ///< divides heads
    std::size_t head_length = 1;
    std::size_t value_length = 0; ///< of a value; 0: head_length
    double scale = 0;             ///< of the scores; 0: 1 / sqrt(head_length)
    double soft_cap = 0;          ///< 0: none (Gemma 2, arXiv 2408.00118)
    /// ALiBi (Press et al., arXiv 2108.12409): scores are lowered by the distance of entry and position times
    /// the head's slope, 2^(-alibi h / heads) for h from 1; if heads is no power of two, those of the next
    /// smaller one, then every second one of the next larger. 0: none.
    double alibi = 0;
    std::size_t position = 0; ///< of the token
    /// What matrix units round away: queries to binary16, rounded_together(), and weights, as parts of the
    /// one of the largest score until then. That grows by tiles of 32 entries, or 16 of heads longer than
    /// 128.
    bool in_half = false;
};

/// Cache entries [begin, end) that a token attends to, at least one.
struct EntryRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Softmax attention of one token (Vaswani et al., arXiv 1706.03762) over a range of cache entries.
///     score_j = scale q . k_j, then soft_cap tanh(score_j / soft_cap);  y = sum_j softmax(score)_j v_j,
/// for every head.
/// `query` [heads, head_length]; `keys` [entries, kv_heads, head_length] and `values` [entries, kv_heads,
/// value_length] with entries >= end; others are ignored. `sinks` is empty or [heads]: the softmax of a head
/// is over its scores and its sink, whose value is zero (Xiao et al., arXiv 2309.17453). Returns [heads,
/// value_length]. Preconditions are asserted.
Vector attention(const AttentionShape& shape, View query, View keys, View values, EntryRange range,
                 View sinks = {});

} // namespace etna::reference
