#include "core/base/half.hpp"
#include "core/kernels/layout.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

constexpr uint32_t block_columns = 32;
constexpr uint32_t q8_0_block_bytes = 34; // f16 scale, 32 int8: GGUF specification

/// Bytes of one row as the file has it; 0 when the format cannot hold such a row.
uint64_t source_row_bytes(Format format, uint32_t columns) {
    switch (format) {
    case Format::f32:
        return uint64_t{columns} * 4;
    case Format::f16:
    case Format::bf16:
        return uint64_t{columns} * 2;
    case Format::q8:
        return columns % block_columns == 0 ? uint64_t{columns} / block_columns * q8_0_block_bytes : 0;
    }
    return 0;
}

uint32_t word_bytes_of_row(Format format, uint32_t columns) {
    return static_cast<uint32_t>(
        packed_offset({.format = format, .arrangement = Arrangement::rows}, 1, columns).weights);
}

/// Where rows go: a row's words one after the other, or eight words apart.
class Writer {
public:
    explicit Writer(const Repack& task)
        : task_(task), row_words_(word_bytes_of_row(task.layout.format, task.columns) / 4),
          blocks_(padded_columns(task.columns) / block_columns) {}

    /// `words`: the row's packed words in order, [row_words].
    void row(uint32_t row, const uint32_t* words) const {
        auto* to = reinterpret_cast<uint32_t*>(task_.weights.data());
        if (task_.layout.arrangement == Arrangement::rows) {
            std::memcpy(to + uint64_t{row} * row_words_, words, uint64_t{row_words_} * 4);
            return;
        }
        to += uint64_t{row} / 8 * row_words_ * 8 + row % 8;
        for (uint32_t word = 0; word < row_words_; ++word)
            to[uint64_t{word} * 8] = words[word];
    }

    void scale(uint32_t row, uint32_t block, uint16_t half) const {
        if (task_.layout.arrangement == Arrangement::rows) {
            const uint64_t at = (uint64_t{row} * blocks_ + block) * 2;
            std::memcpy(task_.scales.data() + at, &half, sizeof half);
            return;
        }
        const float value = half_to_float(half);
        const uint64_t at = ((uint64_t{row} / 8 * blocks_ + block) * 8 + row % 8) * 4;
        std::memcpy(task_.scales.data() + at, &value, sizeof value);
    }

    [[nodiscard]] uint32_t row_words() const { return row_words_; }

private:
    const Repack& task_;
    uint32_t row_words_;
    uint32_t blocks_;
};

Status check(const Repack& task) {
    const uint64_t row_bytes = source_row_bytes(task.layout.format, task.columns);
    const PackedBytes packed = packed_bytes(task.layout, task.row_count, task.columns);
    if (task.row_count == 0 || row_bytes == 0 || task.source.size() != row_bytes * task.row_count ||
        task.weights.size() != packed.weights || task.scales.size() != packed.scales) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("repacking {} rows of {} columns to {} {}: sizes contradict each other",
                                 task.row_count, task.columns, to_string(task.layout.format),
                                 to_string(task.layout.arrangement))};
    }
    return {};
}

} // namespace

Status repack(const Repack& task) {
    ETNA_CHECK(check(task));
    const Writer writer(task);
    const uint64_t row_bytes = source_row_bytes(task.layout.format, task.columns);
    std::vector<uint32_t> words(writer.row_words(), 0);
    const uint32_t whole_rows = static_cast<uint32_t>(round_up(task.row_count, repack_rows));
    for (uint32_t row = 0; row < whole_rows; ++row) {
        if (row >= task.row_count) { // padding rows
            std::fill(words.begin(), words.end(), 0);
            writer.row(row, words.data());
            for (uint32_t block = 0; task.layout.format == Format::q8 && block < task.columns / block_columns;
                 ++block)
                writer.scale(row, block, 0);
            continue;
        }
        const std::byte* source = task.source.data() + row * row_bytes;
        if (task.layout.format != Format::q8) { // the padding behind stays zero
            std::memcpy(words.data(), source, row_bytes);
            writer.row(row, words.data());
            continue;
        }
        for (uint32_t block = 0; block < task.columns / block_columns; ++block, source += q8_0_block_bytes) {
            uint16_t half = 0;
            std::memcpy(&half, source, sizeof half);
            writer.scale(row, block, half);
            std::memcpy(words.data() + uint64_t{block} * 8, source + sizeof half, block_columns);
        }
        writer.row(row, words.data());
    }
    return {};
}

} // namespace etna::kernels
