#include "tests/reference/attention.hpp"

#include <cassert>
#include <cmath>

namespace etna::reference {

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
        Vector scores;
        for (std::size_t entry = range.begin; entry < range.end; ++entry) {
            double product = 0;
            for (std::size_t i = 0; i < length; ++i)
                product += query[head * length + i] * keys[entry * entry_length + kv_start + i];
            const double scale = shape.scale != 0 ? shape.scale : 1 / std::sqrt(static_cast<double>(length));
            const double score = product * scale;
            scores.push_back(shape.soft_cap != 0 ? soft_cap(score, shape.soft_cap) : score);
        }
        if (!sinks.empty())
            scores.push_back(sinks[head]);
        const Vector weights = softmax(scores);
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
