#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etna::server::batch {

/// A part of a batch's lines, for one process of several.
struct Shard {
    uint32_t index = 0; ///< from 0
    uint32_t count = 1;

    /// Whether the line belongs to the shard. Lines count from 1.
    [[nodiscard]] bool has(uint64_t line) const { return (line - 1) % count == index; }
    /// The shard in names of files: "3-of-16".
    [[nodiscard]] std::string name() const;
};

constexpr uint32_t shards_max = 100'000;

/// Parses "I/N": I from 0 to N - 1, N up to shards_max. Empty if the text is not of this form.
std::optional<Shard> parse_shard(std::string_view text);

/// Parses Shard::name(). Empty if the text is not of this form.
std::optional<Shard> parse_shard_name(std::string_view text);

/// A task of a job array, as Slurm describes it.
struct ArrayTask {
    uint32_t id = 0;
    uint32_t count = 1; ///< tasks of the array
    uint32_t min = 0;   ///< the lowest id
    uint32_t step = 1;  ///< between ids
};

/// Returns the shard of a task: its position in the array. Error: invalid_argument (the ids are not evenly
/// spaced from `min`, so that its position is unknown).
Result<Shard> shard_of_task(const ArrayTask& task);

} // namespace etna::server::batch
