#include "core/engine/device/device_warm_up.hpp"

#include <algorithm>
#include <vector>

namespace etna::engine {
namespace {

/// `count` rows of one sequence that end at the last position of the context, so that attention uses
/// split-KV; the rows with an output request every output kind that has its own kernels.
Batch rows_at_the_end(RowKind kind, uint32_t count, const SequenceView& view, const Limits& limits) {
    Batch batch;
    batch.sequences = {view};
    for (uint32_t i = 0; i < count; ++i) {
        Row row;
        row.kind = kind;
        row.index = limits.context_tokens - count + i;
        row.output_kind = i < limits.output_rows_max ? OutputKind::candidates : OutputKind::none;
        row.candidates = 1;
        batch.rows.push_back(row);
    }
    return batch;
}

/// Row counts to record. Kernel selection may change at powers of two; the last range ends at the maximum
/// count.
std::vector<uint32_t> counts(const Limits& limits) {
    const uint32_t most = std::min(limits.batch_rows_max, limits.context_tokens);
    std::vector<uint32_t> counts;
    for (uint32_t count = 1; count < most; count *= 2)
        counts.push_back(count);
    counts.push_back(most);
    return counts;
}

} // namespace

Status warm_up(DeviceModel& model, const Transfer& transfer, const Limits& limits) {
    const std::vector<PageId> pages(divide_up(limits.context_tokens, limits.page_tokens), 0);
    const SequenceView view{.pages = std::vector(limits.groups.size(), std::span<const PageId>(pages))};
    for (const RowKind kind : {RowKind::decode, RowKind::prefill}) {
        for (const uint32_t count : counts(limits)) {
            const Result<vk::CommandBuffer> unused =
                model.record(rows_at_the_end(kind, count, view, limits), transfer, {});
            if (!unused)
                return unused.error().while_doing("while preparing kernels");
        }
    }
    return {};
}

} // namespace etna::engine
