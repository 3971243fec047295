#pragma once

#include "core/kernels/sequences.hpp"
#include "tests/kernels/device_case.hpp"

#include <cstdint>
#include <random>
#include <vector>

// Sequences whose rows reach a recurrent kernel in steps of any size, with drafts of which some are rejected.
namespace etna::test {

/// Rows of one sequence in a step. The first `kept` are accepted; the others are drafts with other inputs.
struct RecurrentStep {
    uint32_t rows = 0;
    uint32_t kept = 0;
    bool commits = false;
};

struct RecurrentSequence {
    uint32_t slot = 0;
    std::vector<RecurrentStep> steps;
};

/// Rows one by one; a prompt in parts of these sizes; drafts until there are `rows` rows that stay.
std::vector<RecurrentStep> single_rows(uint32_t rows);
std::vector<RecurrentStep> prompt_parts(const std::vector<uint32_t>& parts);
std::vector<RecurrentStep> random_drafts(std::mt19937& random, uint32_t rows);

/// A row of a batch; one without a sequence is not in any.
struct RecurrentRow {
    static constexpr uint32_t no_sequence = 0xFFFFFFFF;
    uint32_t sequence = no_sequence;
    uint32_t position = 0;
    bool is_kept = false;
};

struct RecurrentBatch {
    std::vector<kernels::SequenceInfo> infos;
    std::vector<RecurrentRow> rows;
};

/// One step of each sequence per batch, the later sequences first; finally one batch without rows that
/// commits.
std::vector<RecurrentBatch> recurrent_batches(const std::vector<RecurrentSequence>& sequences);

/// Values of sequences: [sequence][position][columns].
using SequenceValues = std::vector<std::vector<float>>;

SequenceValues random_values(std::mt19937& random, std::size_t sequences, std::size_t floats);

/// Returns the values of a batch's rows; rejected rows get other values.
std::vector<float> batch_values(std::mt19937& random, const RecurrentBatch& batch,
                                const SequenceValues& values, uint32_t columns);

/// Stores the outputs of accepted rows by sequence and position; checks that rows of no sequence are zero.
void collect_outputs(const RecurrentBatch& batch, const std::vector<float>& outputs, uint32_t columns,
                     SequenceValues& collected);

} // namespace etna::test
