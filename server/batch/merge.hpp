#pragma once

#include "core/base/result.hpp"
#include "server/batch/input.hpp"
#include "server/batch/result_log.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// The folder of a batch, and the joining of its shards.
namespace etna::server::batch {

/// Records which input a shard answers, or checks that it is the recorded one, and that the folder's shards
/// are of the same number. Blocks. Errors: invalid_argument (another input, another number of shards), io.
Status check_input(const std::filesystem::path& folder, const Shard& shard,
                   const std::filesystem::path& input, const InputSummary& summary);

/// The outcome of merge().
struct MergeReport {
    uint64_t lines = 0;
    uint64_t results = 0;
    uint64_t errors = 0;
    uint64_t missing = 0;                        ///< lines without a record
    std::vector<uint64_t> missing_lines = {};    ///< the first of them
    std::vector<std::string> missing_names = {}; ///< their shards, "3/16"
    std::filesystem::path results_file = {}, errors_file = {};
};

/// Joins the outputs of a folder's shards into results.jsonl and errors.jsonl, in the order of the input,
/// each line once. Writes nothing if lines are missing. `input` may be empty: the recorded one. Blocks.
/// Errors: not_found (no batch in the folder), invalid_argument (the input has changed), io.
Result<MergeReport> merge(const std::filesystem::path& folder, const std::filesystem::path& input);

} // namespace etna::server::batch
