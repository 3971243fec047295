#pragma once

#include "core/base/result.hpp"
#include "core/engine/draft_wish.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/scheduler.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// A small model that drafts for a large one of the same vocabulary. It draws each token with the parameters,
/// the seed and the position that the large one will use, so that the draws agree if the two distributions
/// are close. Has its own pages, and finds earlier computations by content. Belongs to the engine's thread.
class DraftModel {
public:
    /// Takes ownership of the executor. Precondition: check(executor->limits()).
    DraftModel(std::unique_ptr<Executor> executor, const SchedulerOptions& options);

    /// Returns the drafts for each wish, in order; none if the text is too long for this model, or not
    /// computed yet: each call runs one prefill batch for all such texts, so that a long prompt does not
    /// stall the others. Blocks for about as many steps as the longest drafts have tokens. Errors: those of
    /// the executor.
    Result<std::vector<ModelDrafts>> draft(std::span<const DraftWish> wishes);

private:
    void add(std::span<const DraftWish> wishes);
    Status step();
    void put_off_late();
    void take(const Update& update);
    [[nodiscard]] Request request_for(const DraftWish& wish, uint32_t most) const;

    /// The drafts of one request so far.
    struct Drafts {
        std::size_t wish = 0; ///< index of its wish
        std::vector<TokenId> tokens;
        std::optional<float> confidence_min;
        bool was_caught_up = false; ///< before this call
        bool is_added = false;      ///< its text is not too long
        bool is_late = false;       ///< postponed to a later call
        bool is_done = false;
    };

    std::unique_ptr<Executor> executor_;
    Scheduler scheduler_;
    std::deque<Ticket> tickets_;
    Updates updates_;
    RequestId next_id_ = 1;
    RequestId first_id_ = 1;     ///< id of the first wish of this call
    bool is_first_batch_ = true; ///< next batch is the first of this call
    std::vector<Drafts> drafts_; ///< indexed by id - first_id_
};

} // namespace etna::engine
