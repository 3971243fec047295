#include "core/model/blocks/attention_scores.hpp"

#include <algorithm>
#include <span>

namespace etna::model {
namespace {

/// Decode rows per attention pass: as many as have room for their split-KV partials in the scratch buffer, at
/// least one.
uint32_t rows_per_pass(const Recording& recording, const kernels::Attention& operation) {
    const uint64_t row_bytes = kernels::attention_partial_bytes(recording.library.target(), operation.shape(),
                                                                1, operation.attend_max);
    if (row_bytes == 0)
        return operation.rows.count;
    const uint64_t rows = recording.activations.attention_partials.bytes / row_bytes;
    return static_cast<uint32_t>(std::clamp<uint64_t>(rows, 1, operation.rows.count));
}

/// Attention of decode rows, and the merge of their KV splits.
void record_decode_scores(const Recording& recording, const RowRange& range,
                          const kernels::AttendMax& attend_max, const AttentionOf& attention_of) {
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;
    const uint32_t pass_rows = rows_per_pass(recording, attention_of(range, attend_max));
    for (uint32_t done = 0; done < range.count; done += pass_rows) {
        RowRange pass = range;
        pass.first += done;
        pass.count = std::min(pass_rows, range.count - done);
        const kernels::Attention operation = attention_of(pass, attend_max);
        if (done > 0)
            recorder.barrier(); // the previous pass has read the partials
        kernels::attention(library, recorder, operation);
        if (!kernels::attention_needs_merge(library.target(), operation))
            continue;
        recorder.barrier();
        kernels::attention_merge(library, recorder, operation);
    }
}

} // namespace

void record_scores(const Recording& recording, uint32_t group, const AttentionOf& attention_of) {
    const std::span<const RowRange> ranges = recording.step.row_ranges;
    const auto& attend_max = recording.step.groups[group].attend_max;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].path == kernels::RowPath::prefill) {
            kernels::attention(recording.library, recording.recorder, attention_of(ranges[i], attend_max[i]));
        }
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].path == kernels::RowPath::decode)
            record_decode_scores(recording, ranges[i], attend_max[i], attention_of);
    }
}

} // namespace etna::model
