#include "tests/reference/attention.hpp"

#include <cassert>
#include <cmath>

namespace etna::reference {

Vector attention(const AttentionShape& shape, View query, View keys, View values, EntryRange range,
                 View sinks) {
    const std::size_t length = shape.head_length;
    const std::size_t entry_length = shape.kv_heads * length;
    assert(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
    assert(query.size() == shape.heads * length);
    assert(sinks.empty() || sinks.size() == shape.heads);
    assert(range.begin < range.end && keys.size() >= range.end * entry_length &&
           values.size() >= range.end * entry_length);

    const std::size_t queries_per_kv_head = shape.heads / shape.kv_heads;
    Vector output(query.size(), 0.0);
    for (std::size_t head = 0; head < shape.heads; ++head) {
        const std::size_t kv_start = head / queries_per_kv_head * length;
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
            const View value = values.subspan(entry * entry_length + kv_start, length);
            for (std::size_t i = 0; i < length; ++i)
                output[head * length + i] += weights[entry - range.begin] * value[i];
        }
    }
    return output;
}

} // namespace etna::reference
