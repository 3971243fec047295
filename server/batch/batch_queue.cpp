#include "server/batch/batch_queue.hpp"

#include <tuple>

namespace etna::server::batch {

std::optional<BatchTask> BatchQueue::next(const Batches& batches, const NextStep& next_step) const {
    std::map<storage::Owner, OwnerLoad> loads;
    for (const auto& [id, batch] : batches) {
        if (batch->is_finished)
            continue;
        OwnerLoad& load = loads[batch->owner];
        load.running += batch->running;
        load.open += batch->is_open() || batch->is_exclusive ? 1 : 0;
    }
    const auto rank = [&](const Batch& batch) {
        const auto turn = turns_.find(batch.owner);
        return std::tuple(loads.at(batch.owner).running, turn == turns_.end() ? 0 : turn->second,
                          batch.running, batch.turn, batch.created_s(), batch.id);
    };
    std::optional<BatchTask> best;
    for (const auto& [id, batch] : batches) {
        if (batch->is_finished || (best && rank(*best->batch) < rank(*batch)))
            continue;
        if (const auto step = next_step(*batch, loads.at(batch->owner)))
            best = BatchTask{batch, *step};
    }
    return best;
}

void BatchQueue::claim(const BatchTask& task) {
    Batch& batch = *task.batch;
    ++batch.running;
    batch.is_exclusive = task.step != BatchStep::line;
    batch.turn = turns_[batch.owner] = ++last_turn_;
}

} // namespace etna::server::batch
