#pragma once

#include "core/base/result.hpp"
#include "core/engine/admission.hpp"
#include "core/engine/batch_builder.hpp"
#include "core/engine/beam_searches.hpp"
#include "core/engine/constraint_runner.hpp"
#include "core/engine/decode_planner.hpp"
#include "core/engine/draft_planner.hpp"
#include "core/engine/draft_request.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/finisher.hpp"
#include "core/engine/output_reader.hpp"
#include "core/engine/prefill_planner.hpp"
#include "core/engine/request.hpp"
#include "core/engine/sequence_store.hpp"
#include "core/engine/state_cache.hpp"
#include "core/engine/updates.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace etna::engine {

struct SchedulerOptions {
    HashKey hash_key{};      ///< secret, so that clients cannot construct pages with equal hashes
    uint64_t model_salt = 0; ///< differs for different weights
};

/// Decides which rows run in each step: by the rules of its parts, in the order of schedule(). No threads, no
/// clock, no device; state changes only in its public functions.
///
/// Batches are built ahead of their results: schedule() may be called again before process_outputs() of the
/// previous batch, and then lets the next row of a sequence read the slot that will hold its token. So an end
/// token is noticed one step late, and the rows computed past it are dropped. A sequence whose constraint has
/// not computed the allowed tokens yet skips steps, and then resumes.
///
/// Order: decoding sequences, oldest first, then prompts in chunks, those of the client that was served the
/// fewest rows first; see DecodePlanner and PrefillPlanner. Within a client the requests with the smallest
/// priority number come first; among those, running prompts, then waiting requests of the request group with
/// the fewest running sequences, then the oldest.
///
/// Preemption: a sequence releases its pages and waits; its tokens are recomputed later, as the same kind of
/// rows. This happens if a decoding sequence finds no page, and for the fair share of a waiting one: when
/// capacity or pages are short, the scheduler preempts a sequence of a client that runs two more than a
/// client that was served less, or, after a quantum of some hundred tokens, one more; a request
/// replaces one of the same client with a larger priority number, and a request group without running
/// sequences one of a group of the same client that has several. An idle sequence (one under
/// backpressure, or a hypothesis that waits for the others of its beam search) is preempted for any that
/// waits.
///
/// The caller submits every batch with rows, in order, and passes the outputs to process_outputs() in that
/// order.
class Scheduler {
public:
    /// Precondition: check(limits).
    Scheduler(const Limits& limits, const SchedulerOptions& options);
    Scheduler(const Scheduler&) = delete; // its parts borrow each other
    Scheduler& operator=(const Scheduler&) = delete;

    /// Queues a request. Ids must be ascending: they are the age. Precondition: check(request, limits), and
    /// make_draft_texts() was called. `request_group`: id of the first request of a group that competes for
    /// capacity as one, such as the choices of one answer; the request's own id if empty.
    void add(RequestId id, Request request, Clock::time_point now,
             std::optional<RequestId> request_group = std::nullopt);

    /// Drafts for the next batch without a model if possible, and returns the requests for drafts of a model;
    /// their contents are valid until the next call of any member.
    std::vector<DraftRequest> draft() { return drafts_.draft(); }

    /// Stores the draft model's results for the requests that draft() returned, in order.
    void set_drafts(std::span<const DraftRequest> requests, std::vector<ModelDrafts> drafts) {
        drafts_.set_drafts(requests, std::move(drafts));
    }

    /// Ends drafting by a model: no sequence requests or waits for such drafts afterwards.
    void drop_draft_model() { drafts_.drop_model(); }

    /// Sets the maximum number of prefill rows in a batch; initially the maximum number of rows.
    void set_prefill_rows_max(uint32_t rows) { prefill_.set_rows_max(rows); }

    /// Sets the cost of drafts, as measured.
    void set_costs(const DraftCosts& costs) { drafts_.set_costs(costs); }

    /// Returns the next batch; without rows if nothing can run before process_outputs(). Valid until the next
    /// call.
    const Batch& schedule(Updates& updates, Clock::time_point now);

    /// Lets the constraints of the last scheduled batch compute the allowed tokens while the device runs it.
    void prepare_constraints();

    /// Sets the workers for slow constraint work; borrowed. Without them it runs inline, however long it
    /// takes.
    void use(ConstraintWorkers& workers) { constraints_.use(workers); }

    /// Whether a sequence skips steps until a ConstraintWorkers is done with its constraint.
    [[nodiscard]] bool waits_for_constraints() const { return constraints_.has_stalled(); }

    /// Processes the outputs of the oldest batch in flight. A request whose own parameters leave no token
    /// ends with FinishReason::error. Errors: internal (the outputs do not match the batch, or are not
    /// numbers).
    Status process_outputs(const Outputs& outputs, Updates& updates, Clock::time_point now);

    /// Ends a request at once and frees its pages; no effect on unknown and finished ones.
    void cancel(RequestId id, Updates& updates, Clock::time_point now);

    /// Pauses a request, or resumes it; no effect on unknown and finished ones.
    void set_backpressure(RequestId id, Backpressure backpressure) {
        store_.set_backpressure(id, backpressure);
    }

    /// Returns the progress on a request's prompt; empty for waiting, unknown and finished ones.
    [[nodiscard]] std::optional<PromptProgress> progress(RequestId id) const;

    /// Returns the number of the request's known tokens that are not yet scheduled; empty while it is
    /// waiting. Not for beam searches.
    [[nodiscard]] std::optional<uint32_t> rows_left(RequestId id) const;

    /// Whether a request is paused by backpressure.
    [[nodiscard]] bool has_backpressure() const;

    /// Ends every request.
    void end_all(FinishReason reason, const std::optional<Error>& error, Updates& updates,
                 Clock::time_point now);

    [[nodiscard]] bool is_idle() const { return store_.all().empty(); }
    [[nodiscard]] uint32_t waiting_count() const {
        return static_cast<uint32_t>(admission_.waiting().size());
    }
    [[nodiscard]] const PriorityCounts& waiting_prioritized() const {
        return admission_.waiting().prioritized();
    }
    [[nodiscard]] uint32_t running_count() const {
        return static_cast<uint32_t>(admission_.running().size());
    }
    /// Number of preemptions since the start.
    [[nodiscard]] uint64_t preemptions() const { return store_.preemptions(); }
    [[nodiscard]] const StateCache& cache() const { return cache_; }

    /// Records from now on which pages can be found. Precondition: no request was added.
    void record_cache_changes() { cache_.record_changes(); }
    /// Null before record_cache_changes().
    [[nodiscard]] CacheJournal* cache_journal() { return cache_.journal(); }

    /// Checks all invariants. Slow: for tests, and before every step with Limits::verifies_steps. Errors:
    /// internal.
    [[nodiscard]] Status verify() const;

private:
    Limits limits_;
    Admission admission_;
    StateCache cache_;
    ConstraintRunner constraints_;
    SequenceStore store_;
    BatchBuilder builder_;
    BeamSearches beams_;
    Finisher finisher_;
    OutputReader reader_;
    DraftPlanner drafts_;
    DecodePlanner decode_;
    PrefillPlanner prefill_;
};

} // namespace etna::engine
