#include "tests/kernels/recurrent_case.hpp"

#include <algorithm>

namespace etna::test {
namespace {

/// The progress of a sequence before its next step.
struct Progress {
    uint32_t position = 0;
    uint32_t accepted = 0;
    bool parity = false;
};

kernels::SequenceInfo info_of(const RecurrentSequence& sequence, const Progress& progress,
                              const RecurrentStep& step, uint32_t first_row) {
    return {.slot = sequence.slot,
            .first_row = first_row,
            .row_count = step.rows,
            .position = progress.position,
            .accepted = progress.accepted,
            .flags =
                (step.commits ? kernels::commit_rows : 0) | (progress.parity ? kernels::pending_parity : 0)};
}

void advance(Progress& progress, const RecurrentStep& step) {
    progress.position += step.kept;
    progress.accepted = step.commits ? 0 : step.kept;
    progress.parity = progress.parity != !step.commits;
}

} // namespace

std::vector<RecurrentStep> single_rows(uint32_t rows) {
    return std::vector(rows, RecurrentStep{1, 1, false});
}

std::vector<RecurrentStep> prompt_parts(const std::vector<uint32_t>& parts) {
    std::vector<RecurrentStep> steps;
    steps.reserve(parts.size());
    for (const uint32_t rows : parts)
        steps.push_back({rows, rows, true});
    return steps;
}

std::vector<RecurrentStep> random_drafts(std::mt19937& random, uint32_t rows) {
    std::vector<RecurrentStep> steps;
    for (uint32_t position = 0; position < rows;) {
        const auto count = static_cast<uint32_t>(1 + random() % kernels::pending_rows_max);
        // none stay only if the step is abandoned, which happens now and then
        const auto kept = static_cast<uint32_t>(random() % 8 == 0 ? 0 : 1 + random() % count);
        steps.push_back({count, std::min(kept, rows - position), false});
        position += steps.back().kept;
    }
    return steps;
}

std::vector<RecurrentBatch> recurrent_batches(const std::vector<RecurrentSequence>& sequences) {
    std::vector<Progress> progress(sequences.size());
    std::vector<RecurrentBatch> batches;
    std::size_t count = 0;
    for (const RecurrentSequence& sequence : sequences)
        count = std::max(count, sequence.steps.size());
    for (std::size_t n = 0; n < count; ++n) {
        RecurrentBatch batch{.infos = {}, .rows = {{}}}; // begins with a row of no sequence
        for (std::size_t i = sequences.size(); i-- > 0;) {
            if (n >= sequences[i].steps.size())
                continue;
            const RecurrentStep& step = sequences[i].steps[n];
            batch.infos.push_back(
                info_of(sequences[i], progress[i], step, static_cast<uint32_t>(batch.rows.size())));
            for (uint32_t row = 0; row < step.rows; ++row) {
                batch.rows.push_back({.sequence = static_cast<uint32_t>(i),
                                      .position = progress[i].position + row,
                                      .is_kept = row < step.kept});
            }
            advance(progress[i], step);
        }
        batches.push_back(std::move(batch));
    }
    RecurrentBatch last;
    for (std::size_t i = 0; i < sequences.size(); ++i)
        last.infos.push_back(info_of(sequences[i], progress[i], {}, 0));
    batches.push_back(std::move(last));
    return batches;
}

SequenceValues random_values(std::mt19937& random, std::size_t sequences, std::size_t floats) {
    SequenceValues values(sequences);
    for (std::vector<float>& one : values)
        one = random_floats(random, floats);
    return values;
}

std::vector<float> batch_values(std::mt19937& random, const RecurrentBatch& batch,
                                const SequenceValues& values, uint32_t columns) {
    std::vector<float> content;
    for (const RecurrentRow& row : batch.rows) {
        std::vector<float> one = random_floats(random, columns);
        if (row.is_kept) {
            std::copy_n(values[row.sequence].begin() + std::size_t{row.position} * columns, columns,
                        one.begin());
        }
        content.insert(content.end(), one.begin(), one.end());
    }
    return content;
}

void collect_outputs(const RecurrentBatch& batch, const std::vector<float>& outputs, uint32_t columns,
                     SequenceValues& collected) {
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        const RecurrentRow& row = batch.rows[i];
        const auto from = outputs.begin() + static_cast<std::ptrdiff_t>(i * columns);
        if (row.is_kept) {
            std::copy_n(from, columns, collected[row.sequence].begin() + std::size_t{row.position} * columns);
        } else if (row.sequence == RecurrentRow::no_sequence) {
            REQUIRE(std::all_of(from, from + columns, [](float value) { return value == 0; }));
        }
    }
}

} // namespace etna::test
