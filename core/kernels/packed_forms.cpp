#include "core/kernels/packed_forms.hpp"

#include <algorithm>

namespace etna::kernels {

void PackedForms::forget(const vk::Range& range) {
    if (range.bytes == 0)
        return;
    std::erase_if(current_,
                  [&](const Current& one) { return one.rows.overlaps(range) || one.packed.overlaps(range); });
}

void PackedForms::note(const Activations& rows, uint32_t first, uint32_t count) {
    current_.push_back({.rows = rows.rows(first, count), .packed = rows.packed_rows(first, count)});
}

PackedForms::RowSpan PackedForms::missing(const Activations& rows, uint32_t first, uint32_t count) const {
    const uint64_t row_bytes = packed_row_bytes(rows.columns);
    const vk::Range all = rows.packed_rows(first, count);
    const uint64_t end = all.address + all.bytes;
    uint64_t from = all.address;
    const auto holds_from = [&](const Current& one) { return one.packed.overlaps({from, row_bytes}); };
    for (auto one = current_.begin(); from < end && one != current_.end();) {
        one = std::ranges::find_if(current_, holds_from);
        if (one != current_.end())
            from = one->packed.address + one->packed.bytes;
    }
    if (from >= end)
        return {};
    uint64_t to = end;
    for (const Current& one : current_) {
        if (one.packed.address > from)
            to = std::min(to, one.packed.address);
    }
    return {.first = first + static_cast<uint32_t>((from - all.address) / row_bytes),
            .count = static_cast<uint32_t>((to - from) / row_bytes)};
}

} // namespace etna::kernels
