#pragma once

#include "core/base/result.hpp"
#include "core/engine/draft_request.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/scheduler.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// A small model that drafts for a large one of the same vocabulary. It samples each token with the
/// parameters, the seed and the position that the large one will use, so that the samples agree if the two
/// distributions are close. Has its own page cache, and reuses earlier computations by content. Belongs to
/// the engine's thread.
class DraftModel {
public:
    /// Takes ownership of the executor. Precondition: check(executor->limits()).
    DraftModel(std::unique_ptr<Executor> executor, const SchedulerOptions& options);

    /// Returns the drafts for each request, in order; none if the text is too long for this model, or not
    /// computed yet: each call runs one prefill batch for all such texts, so that a long prompt does not
    /// stall the others. Blocks for about as many steps as the longest drafts have tokens. Errors: those of
    /// the executor.
    Result<std::vector<ModelDrafts>> draft(std::span<const DraftRequest> requests);

private:
    void add(std::span<const DraftRequest> requests);
    Status step();
    void postpone_late();
    void receive(const Update& update);
    [[nodiscard]] Request request_for(const DraftRequest& draft, uint32_t tokens_max) const;

    /// The drafts of one request so far.
    struct Drafts {
        std::size_t index = 0; ///< in the requests of this call
        std::vector<TokenId> tokens;
        std::optional<float> confidence_min;
        bool was_caught_up = false; ///< before this call
        bool is_added = false;      ///< its text is not too long
        bool is_late = false;       ///< postponed to the next call
        bool is_done = false;
    };

    std::unique_ptr<Executor> executor_;
    Scheduler scheduler_;
    std::deque<Ticket> tickets_;
    Updates updates_;
    RequestId next_id_ = 1;
    RequestId first_id_ = 1;     ///< id of the first request of this call
    bool is_first_batch_ = true; ///< next batch is the first of this call
    std::vector<Drafts> drafts_; ///< indexed by id - first_id_
};

} // namespace etna::engine
