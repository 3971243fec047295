#include "core/kernels/packed_forms.hpp"

#include <algorithm>

namespace etna::kernels {

void PackedForms::forget(const vk::Range& range) {
    if (range.bytes == 0)
        return;
    std::erase_if(current_,
                  [&](const Current& one) { return one.rows.overlaps(range) || one.packed.overlaps(range); });
}

PackedForms::RowSpan PackedForms::Current::span_of(const Activations& all, PackedForm form) const {
    const vk::Range& all_packed = all.form(form);
    if (rows.address < all.range.address || row_bytes != uint64_t{all.stride} * sizeof(float) ||
        packed_row_bytes != kernels::row_bytes(form, all.columns))
        return {};
    const uint64_t offset = rows.address - all.range.address;
    const uint64_t first = offset / row_bytes;
    if (offset % row_bytes != 0 || packed.address != all_packed.address + first * packed_row_bytes)
        return {};
    return {.first = static_cast<uint32_t>(first),
            .count = static_cast<uint32_t>(packed.bytes / packed_row_bytes)};
}

void PackedForms::note(const Activations& rows, PackedForm form, uint32_t first, uint32_t count) {
    current_.push_back({.rows = rows.rows(first, count),
                        .packed = rows.form_rows(form, first, count),
                        .row_bytes = uint64_t{rows.stride} * sizeof(float),
                        .packed_row_bytes = row_bytes(form, rows.columns)});
}

PackedForms::RowSpan PackedForms::missing(const Activations& rows, PackedForm form, uint32_t first,
                                          uint32_t count) const {
    const uint32_t end = first + count;
    uint32_t begin = first;
    const auto holds_begin = [&](const Current& one) {
        const RowSpan span = one.span_of(rows, form);
        const bool holds = span.first <= begin && begin < span.first + span.count;
        begin = holds ? span.first + span.count : begin;
        return holds;
    };
    while (begin < end && std::ranges::any_of(current_, holds_begin)) {
    }
    if (begin >= end)
        return {};
    uint32_t last = end;
    for (const Current& one : current_) {
        const RowSpan span = one.span_of(rows, form);
        if (span.count > 0 && span.first > begin)
            last = std::min(last, span.first);
    }
    return {.first = begin, .count = last - begin};
}

} // namespace etna::kernels
