#pragma once

#include "server/batch/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace etna::server::batch {

using SharedBatch = std::shared_ptr<Batch>;

/// The steps of running a batch. The first and the last have the batch for themselves.
enum class BatchStep : uint8_t { open, line, close };

/// A step of a batch that a thread does.
struct BatchTask {
    SharedBatch batch;
    BatchStep step;
};

/// What the batches of an owner do now.
struct OwnerLoad {
    uint32_t running = 0; ///< steps in progress
    std::size_t open = 0; ///< batches that are open, opening or closing
};

/// The one queue of all batches. The next step is that of the owner with the fewest steps in progress, and
/// among those of the owner whose turn was longest ago; the same rule selects among the batches of an owner.
/// Not thread-safe.
class BatchQueue {
public:
    using Batches = std::map<std::string, SharedBatch>;
    /// Returns the step that a batch can do next; empty: none.
    using NextStep = std::function<std::optional<BatchStep>(const Batch& batch, const OwnerLoad& load)>;

    [[nodiscard]] std::optional<BatchTask> next(const Batches& batches, const NextStep& next_step) const;

    /// Starts a step.
    void claim(const BatchTask& task);

private:
    std::map<storage::Owner, uint64_t> turns_; ///< number of the last step of each owner's batches
    uint64_t last_turn_ = 0;
};

} // namespace etna::server::batch
