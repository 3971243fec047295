#include "tests/reference/attention.hpp"

#include "tests/reference/decode.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace etna::reference {

namespace {

/// softmax() of the scores of entries from `begin` on, and of a last one without an entry if there are more
/// than `count`, with weights that matrix units round.
Vector softmax_in_half(View scores, std::size_t begin, std::size_t count, std::size_t tile) {
    const double final_largest = *std::max_element(scores.begin(), scores.end());
    double largest = scores.size() > count ? scores.back() : scores[0];
    double total = 0;
    for (const double score : scores)
        total += std::exp(score - final_largest);
    Vector weights(scores.size());
    for (std::size_t first = 0, end = 0; first < count; first = end) {
        end = std::min(count, ((begin + first) / tile + 1) * tile - begin);
        for (std::size_t i = first; i < end; ++i)
            largest = std::max(largest, scores[i]);
        for (std::size_t i = first; i < end; ++i)
            weights[i] =
                round_to_half(std::exp(scores[i] - largest)) * std::exp(largest - final_largest) / total;
    }
    return weights;
}

/// Slopes of ALiBi, by the paper's published code (get_slopes).
double slope(const AttentionShape& shape, std::size_t head) {
    std::size_t power = 1;
    while (2 * power <= shape.heads)
        power *= 2;
    if (head < power)
        return std::exp2(-shape.alibi * static_cast<double>(head + 1) / static_cast<double>(power));
    const std::size_t index = 2 * (head - power); // of the slopes of twice as many heads
    return std::exp2(-shape.alibi * static_cast<double>(index + 1) / static_cast<double>(2 * power));
}

} // namespace

Vector attention(const AttentionShape& shape, View query, View keys, View values, EntryRange range,
                 View sinks) {
    const std::size_t length = shape.head_length;
    const std::size_t value_length = shape.value_length != 0 ? shape.value_length : length;
    const std::size_t entry_length = shape.kv_heads * length;
    const std::size_t value_entry_length = shape.kv_heads * value_length;
    assert(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
    assert(query.size() == shape.heads * length);
    assert(sinks.empty() || sinks.size() == shape.heads);
    assert(range.begin < range.end && keys.size() >= range.end * entry_length &&
           values.size() >= range.end * value_entry_length);

    const std::size_t queries_per_kv_head = shape.heads / shape.kv_heads;
    Vector output(shape.heads * value_length, 0.0);
    for (std::size_t head = 0; head < shape.heads; ++head) {
        const std::size_t kv_head = head / queries_per_kv_head;
        const std::size_t kv_start = kv_head * length;
        const View exact = query.subspan(head * length, length);
        const Vector own = shape.in_half ? rounded_together(exact) : Vector(exact.begin(), exact.end());
        Vector scores;
        for (std::size_t entry = range.begin; entry < range.end; ++entry) {
            double product = 0;
            for (std::size_t i = 0; i < length; ++i)
                product += own[i] * keys[entry * entry_length + kv_start + i];
            const double scale = shape.scale != 0 ? shape.scale : 1 / std::sqrt(static_cast<double>(length));
            const double score = product * scale;
            const double distance =
                std::abs(static_cast<double>(entry) - static_cast<double>(shape.position));
            const double bias = shape.alibi != 0 ? slope(shape, head) * distance : 0;
            scores.push_back((shape.soft_cap != 0 ? soft_cap(score, shape.soft_cap) : score) - bias);
        }
        if (!sinks.empty())
            scores.push_back(sinks[head]);
        const std::size_t tile = length > 128 ? 16 : 32;
        const Vector weights = shape.in_half
                                   ? softmax_in_half(scores, range.begin, range.end - range.begin, tile)
                                   : softmax(scores);
        for (std::size_t entry = range.begin; entry < range.end; ++entry) {
            const View value =
                values.subspan(entry * value_entry_length + kv_head * value_length, value_length);
            for (std::size_t i = 0; i < value_length; ++i)
                output[head * value_length + i] += weights[entry - range.begin] * value[i];
        }
    }
    return output;
}

} // namespace etna::reference
