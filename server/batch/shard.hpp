#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etna::server::batch {

/// The part of a batch that one of several processes answers.
struct Shard {
    uint32_t index = 0; ///< from 0
    uint32_t count = 1;

    /// Whether the line belongs to the shard. Lines count from 1.
    [[nodiscard]] bool has(uint64_t line) const { return (line - 1) % count == index; }
    /// The shard in file names: "3-of-16".
    [[nodiscard]] std::string name() const;
};

constexpr uint32_t shards_max = 100'000;

/// Parses "I/N": I from 0 to N - 1, N up to shards_max. Empty if malformed.
std::optional<Shard> parse_shard(std::string_view text);

/// Parses Shard::name(). Empty if malformed.
std::optional<Shard> parse_shard_name(std::string_view text);

/// A task of a Slurm job array.
struct ArrayTask {
    uint32_t id = 0;
    uint32_t count = 1; ///< number of tasks in the array
    uint32_t min = 0;   ///< the lowest id
    uint32_t step = 1;  ///< distance between ids
};

/// Returns the shard of a task: its position in the array. Error: invalid_argument (the ids are not evenly
/// spaced from `min`, so the position is unknown).
Result<Shard> shard_of_task(const ArrayTask& task);

} // namespace etna::server::batch
