#pragma once

#include "core/base/result.hpp"
#include "server/batch/input.hpp"
#include "server/batch/result_log.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// The folder of a batch, and merging its shards.
namespace etna::server::batch {

/// Records the input of a shard, or checks it against the recorded one; also checks that all shards of the
/// folder have the same count. Blocks. Errors: invalid_argument (another input or shard count), io.
Status check_input(const std::filesystem::path& folder, const Shard& shard,
                   const std::filesystem::path& input, const InputSummary& summary);

/// The outcome of merge().
struct MergeReport {
    uint64_t lines = 0;
    uint64_t results = 0;
    uint64_t errors = 0;
    uint64_t missing = 0;                        ///< lines without a record
    std::vector<uint64_t> missing_lines = {};    ///< the first of these lines
    std::vector<std::string> missing_names = {}; ///< the shards they belong to, such as "3/16"
    std::filesystem::path results_file = {}, errors_file = {};
};

/// Merges the outputs of a folder's shards into results.jsonl and errors.jsonl, in input order, one record
/// per line. Writes nothing if lines are missing. `input`: empty: the recorded one. Blocks. Errors: not_found
/// (no batch in the folder), invalid_argument (the input has changed), io.
Result<MergeReport> merge(const std::filesystem::path& folder, const std::filesystem::path& input);

} // namespace etna::server::batch
