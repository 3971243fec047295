#include "core/model/blocks/attention_scores.hpp"

#include "core/base/bytes.hpp"

#include <algorithm>
#include <span>

namespace etna::model {
namespace {

/// If the partials of more rows than fit here are needed, they are computed in several passes.
constexpr uint64_t partial_bytes_max = 64 * mebibyte;

/// Rows of a pass: as many as have room for their split-KV partials, at least one.
uint32_t pass_rows(const RowRange& range, uint64_t row_bytes) {
    if (row_bytes == 0)
        return range.count;
    return static_cast<uint32_t>(std::clamp<uint64_t>(partial_bytes_max / row_bytes, 1, range.count));
}

/// Attention of rows of one kind, and the merge of their KV splits.
void record_range(const Recording& recording, const RowRange& range, const kernels::AttendMax& attend_max,
                  const AttentionOf& attention_of) {
    if (range.count == 0)
        return;
    const kernels::PlanTarget& target = recording.launcher.target();
    const kernels::AttentionShape shape = attention_of(range, attend_max).shape();
    const auto partial_bytes = [&](uint32_t rows) {
        return kernels::attention_partial_bytes(target, shape, rows, attend_max, range.path);
    };
    const uint32_t rows = pass_rows(range, partial_bytes(1));
    const Arena::Scope scope(recording.arena);
    const vk::Range partials = recording.arena.bytes(partial_bytes(rows));
    const vk::Range counters =
        recording.arena.zeros(kernels::attention_counter_bytes(target, shape, rows, attend_max));
    for (uint32_t done = 0; done < range.count; done += rows) {
        RowRange pass = range;
        pass.first += done;
        pass.count = std::min(rows, range.count - done);
        kernels::Attention operation = attention_of(pass, attend_max);
        operation.partials = partials;
        operation.counters = counters;
        kernels::attention(recording.launcher, operation);
        if (kernels::attention_needs_merge(target, operation))
            kernels::attention_merge(recording.launcher, operation);
    }
}

} // namespace

void record_scores(const Recording& recording, uint32_t group, const AttentionOf& attention_of) {
    const std::span<const RowRange> ranges = recording.step.row_ranges;
    const auto& attend_max = recording.step.groups[group].attend_max;
    for (const kernels::RowPath path : {kernels::RowPath::prefill, kernels::RowPath::decode}) {
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            if (ranges[i].path == path)
                record_range(recording, ranges[i], attend_max[i], attention_of);
        }
    }
}

} // namespace etna::model
