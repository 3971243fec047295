#include "core/model/blocks/attention_scores.hpp"

#include <algorithm>
#include <span>

namespace etna::model {
namespace {

/// Bytes of the split-KV partials of one row; 0 if no row has any.
uint64_t partial_bytes_of(const Recording& recording, const kernels::Attention& operation) {
    return kernels::attention_partial_bytes(recording.library.target(), operation.shape(), 1,
                                            operation.attend_max, operation.path);
}

/// Attention of rows of one kind, and the merge of their KV splits, in passes of as many rows as have room
/// for their partials in the scratch buffer, at least one.
void record_range(const Recording& recording, const RowRange& range, const kernels::AttendMax& attend_max,
                  const AttentionOf& attention_of) {
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;
    const uint64_t row_bytes = partial_bytes_of(recording, attention_of(range, attend_max));
    const uint64_t pass_rows =
        row_bytes == 0 ? range.count : recording.activations.attention_partials.bytes / row_bytes;
    const auto rows = static_cast<uint32_t>(std::clamp<uint64_t>(pass_rows, 1, range.count));
    for (uint32_t done = 0; done < range.count; done += rows) {
        RowRange pass = range;
        pass.first += done;
        pass.count = std::min(rows, range.count - done);
        const kernels::Attention operation = attention_of(pass, attend_max);
        kernels::attention(library, recorder, operation);
        if (kernels::attention_needs_merge(library.target(), operation))
            kernels::attention_merge(library, recorder, operation);
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
