#include "core/model/arena.hpp"

#include "core/base/bytes.hpp"

#include <algorithm>

namespace etna::model {
namespace {

constexpr uint64_t alignment = 256;
constexpr std::size_t any_part = 0;
constexpr std::size_t zero_part = 1;
constexpr std::size_t first_padded_part = 2;

/// Distance of a dry arena's parts, which never meet.
constexpr uint64_t dry_part_bytes = uint64_t{1} << 44;

uint64_t padded_bytes(uint32_t columns, uint64_t rows) {
    return rows * kernels::padded_columns(columns) * sizeof(float);
}

} // namespace

void ArenaSizes::include(const ArenaSizes& other) {
    bytes = std::max(bytes, other.bytes);
    zero_bytes = std::max(zero_bytes, other.zero_bytes);
    for (const PaddedRows& one : other.padded) {
        const auto found = std::ranges::lower_bound(padded, one.columns, {}, &PaddedRows::columns);
        if (found == padded.end() || found->columns != one.columns) {
            padded.insert(found, one);
        } else {
            found->rows = std::max(found->rows, one.rows);
        }
    }
}

uint64_t ArenaSizes::total_bytes() const {
    uint64_t sum = round_up(zero_bytes, alignment);
    for (const PaddedRows& one : padded)
        sum += round_up(padded_bytes(one.columns, one.rows), alignment);
    return sum + bytes;
}

Arena::Arena() : is_dry_(true) {
    parts_.resize(first_padded_part);
    for (std::size_t i = 0; i < parts_.size(); ++i)
        parts_[i] = {.address = (i + 1) * dry_part_bytes, .capacity = dry_part_bytes};
}

Arena::Arena(vk::Range memory, const ArenaSizes& sizes) {
    uint64_t address = memory.address;
    const Part zeros{.address = address, .capacity = sizes.zero_bytes};
    address += round_up(sizes.zero_bytes, alignment);
    parts_ = {{}, zeros};
    for (const ArenaSizes::PaddedRows& one : sizes.padded) {
        parts_.push_back({.columns = one.columns, .address = address, .capacity = one.rows});
        address += round_up(padded_bytes(one.columns, one.rows), alignment);
    }
    parts_[any_part] = {.address = address, .capacity = sizes.bytes};
}

uint64_t Arena::take(std::size_t part, uint64_t units) {
    Part& from = parts_[part];
    taken_.push_back({.part = part, .used = from.used});
    uint64_t start = from.used;
    if (units > from.capacity - start) {
        is_exceeded_ = true;
        start = 0;
    }
    from.used = std::min(start + units, from.capacity);
    from.peak = std::max(from.peak, from.used);
    return start;
}

std::size_t Arena::padded_part(uint32_t columns) {
    for (std::size_t i = first_padded_part; i < parts_.size(); ++i) {
        if (parts_[i].columns == columns)
            return i;
    }
    if (!is_dry_) {
        is_exceeded_ = true;
        return zero_part;
    }
    parts_.push_back(
        {.columns = columns, .address = (parts_.size() + 1) * dry_part_bytes, .capacity = UINT32_MAX});
    return parts_.size() - 1;
}

kernels::Activations Arena::rows(uint32_t count, uint32_t columns, kernels::ReadForms forms) {
    const uint32_t stride = kernels::padded_columns(columns);
    const uint64_t row_bytes = uint64_t{stride} * sizeof(float);
    kernels::Activations taken{.range = {}, .columns = columns, .stride = stride};
    if (stride == columns) {
        taken.range = bytes(count * row_bytes);
    } else {
        const std::size_t part = padded_part(columns);
        taken.range = {.address = parts_[part].address + take(part, count) * row_bytes,
                       .bytes = count * row_bytes};
    }
    if (forms.blocks)
        taken.packed = bytes(count * kernels::packed_row_bytes(columns));
    if (forms.f16)
        taken.f16 = bytes(count * kernels::f16_row_bytes(columns));
    return taken;
}

vk::Range Arena::bytes(uint64_t bytes) {
    const uint64_t start = take(any_part, round_up(bytes, alignment));
    return {.address = parts_[any_part].address + start, .bytes = bytes};
}

vk::Range Arena::zeros(uint64_t bytes) {
    const uint64_t start = take(zero_part, round_up(bytes, alignment));
    return {.address = parts_[zero_part].address + start, .bytes = bytes};
}

ArenaSizes Arena::peak() const {
    ArenaSizes sizes{.bytes = parts_[any_part].peak, .zero_bytes = parts_[zero_part].peak, .padded = {}};
    for (std::size_t i = first_padded_part; i < parts_.size(); ++i) {
        sizes.include(
            {.padded = {{.columns = parts_[i].columns, .rows = static_cast<uint32_t>(parts_[i].peak)}}});
    }
    return sizes;
}

void Arena::release(std::size_t taken) {
    while (taken_.size() > taken) {
        parts_[taken_.back().part].used = taken_.back().used;
        taken_.pop_back();
    }
}

} // namespace etna::model
