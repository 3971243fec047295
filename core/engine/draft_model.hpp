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
/// the seed and the position that the large one will draw it with: where the two distributions are close, so
/// are the draws. Keeps its own pages, and finds what it computed before by content. Belongs to the engine's
/// thread.
class DraftModel {
public:
    /// Takes the executor over. Precondition: check(executor->limits()).
    DraftModel(std::unique_ptr<Executor> executor, const SchedulerOptions& options);

    /// The drafts for each wish, in order; none where the text is too long for this model, or where it has
    /// not computed the text yet: all such texts together are gone on with by one batch in each call, lest
    /// everybody waits for a long prompt. Blocking: about as many steps as the longest drafts have tokens.
    /// Errors: those of the executor.
    Result<std::vector<ModelDrafts>> draft(std::span<const DraftWish> wishes);

private:
    void add(std::span<const DraftWish> wishes);
    Status step();
    void put_off_late();
    void take(const Update& update);
    [[nodiscard]] Request request_for(const DraftWish& wish, uint32_t most) const;

    /// What one request has given so far.
    struct Drafts {
        std::size_t wish = 0; ///< which it is of
        std::vector<TokenId> tokens;
        std::optional<float> confidence_min;
        bool was_caught_up = false; ///< before this call
        bool is_added = false;      ///< its text is not too long
        bool is_late = false;       ///< it is put off
        bool is_done = false;
    };

    std::unique_ptr<Executor> executor_;
    Scheduler scheduler_;
    std::deque<Ticket> tickets_;
    Updates updates_;
    RequestId next_id_ = 1;
    RequestId first_id_ = 1;     ///< of the wishes that are worked on
    bool is_first_batch_ = true; ///< of a call
    std::vector<Drafts> drafts_; ///< by id, from first_id_
};

} // namespace etna::engine
