#pragma once

#include "core/base/result.hpp"
#include "core/engine/admission.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/beam_search.hpp"
#include "core/engine/constraint_runner.hpp"
#include "core/engine/draft_request.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/page_cache.hpp"
#include "core/engine/request.hpp"
#include "core/engine/sequence.hpp"
#include "core/sampling/sampler.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

struct SchedulerOptions {
    HashKey hash_key{};      ///< secret, so that clients cannot construct pages with equal hashes
    uint64_t model_salt = 0; ///< differs for different weights
};

/// An event for a request's stream.
struct Update {
    RequestId request = 0;
    uint32_t answer = 0; ///< index of the answer of a beam search; 0 for others
    Event event;
};
using Updates = std::vector<Update>;

/// Decides which rows run in each step. No threads, no clock, no device; state changes only in its public
/// functions.
///
/// Batches are built ahead of their results: schedule() may be called again before process_outputs() of the
/// previous batch, and then lets the next row of a sequence read the slot that will hold its token. So an end
/// token is noticed one step late, and the rows computed past it are dropped. A sequence whose constraint has
/// not computed the allowed tokens yet skips steps, and then resumes.
///
/// Order: one row for every decoding sequence, oldest first; then prompts in chunks. A prompt that does not
/// end in this batch leaves up to half of the rows to those after it. The client that was served the fewest
/// rows comes first (see ClientTokenCounters); waiting requests are admitted in that order while pages for
/// their known tokens are available. Within a client running prompts come first, then waiting requests of the
/// request group with the fewest running sequences, then the oldest.
///
/// Preemption: if no page is available for a decoding sequence, the youngest sequence of the client that was
/// served most releases its pages and waits; its tokens are recomputed later, as the same kind of rows. An
/// idle sequence (one under backpressure, or a hypothesis that waits for the others of its beam search) is
/// preempted for any that waits. The last running sequence has used up the memory, and ends with
/// FinishReason::length.
///
/// When capacity or pages are short, the scheduler preempts a sequence of a client that runs two more than a
/// client that was served less, or, after a quantum of some hundred tokens, one more; a request group without
/// running sequences replaces one of a group of the same client that has several.
///
/// The caller submits every batch with rows, in order, and passes the outputs to process_outputs() in that
/// order.
class Scheduler {
public:
    /// Precondition: check(limits).
    Scheduler(const Limits& limits, const SchedulerOptions& options);

    /// Queues a request. Ids must be ascending: they are the age. Precondition: check(request, limits), and
    /// make_draft_texts() was called. `request_group`: id of the first request of a group that competes for
    /// capacity as one, such as the choices of one answer; the request's own id if empty.
    void add(RequestId id, Request request, Clock::time_point now,
             std::optional<RequestId> request_group = std::nullopt);

    /// Drafts for the next batch without a model if possible, and returns the requests for drafts of a model;
    /// their contents are valid until the next call of any member.
    std::vector<DraftRequest> draft();

    /// Stores the draft model's results for the requests that draft() returned, in order.
    void set_drafts(std::span<const DraftRequest> requests, std::vector<ModelDrafts> drafts);

    /// Ends drafting by a model: no sequence requests or waits for such drafts afterwards.
    void drop_draft_model();

    /// Sets the maximum number of prefill rows in a batch; initially the maximum number of rows.
    void set_prefill_rows_max(uint32_t rows) { prefill_rows_max_ = rows; }

    /// Sets the cost of drafts, as measured.
    void set_costs(const DraftCosts& costs) { draft_costs_ = costs; }

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
    void set_backpressure(RequestId id, Backpressure backpressure);

    /// Whether a request has been admitted; false for unknown and finished ones.
    [[nodiscard]] bool has_begun(RequestId id) const;

    /// Returns the number of the request's known tokens that are not yet scheduled; empty while it is
    /// waiting. Not for beam searches.
    [[nodiscard]] std::optional<uint32_t> rows_left(RequestId id) const;

    /// Whether a request is paused by backpressure.
    [[nodiscard]] bool has_backpressure() const;

    /// Ends every request.
    void end_all(FinishReason reason, const std::optional<Error>& error, Updates& updates,
                 Clock::time_point now);

    [[nodiscard]] bool is_idle() const { return sequences_.empty(); }
    [[nodiscard]] uint32_t waiting_count() const {
        return static_cast<uint32_t>(admission_.waiting().size());
    }
    [[nodiscard]] uint32_t running_count() const {
        return static_cast<uint32_t>(admission_.running().size());
    }
    /// Number of preemptions since the start.
    [[nodiscard]] uint64_t preemptions() const { return preemptions_; }
    [[nodiscard]] const PageCache& cache() const { return cache_; }

    /// Checks all invariants. Slow: for tests, and after every step of builds with ETNA_CHECKS. Errors:
    /// internal.
    [[nodiscard]] Status verify() const;

private:
    /// The description of a scheduled output, matched with the output when it arrives.
    struct PendingOutput {
        SequenceId sequence;
        uint32_t position = 0;
        std::optional<uint32_t> slot = {};
        std::optional<TokenId> draft = {}; ///< the draft that the row reads; empty if its token was known
    };
    using Step = std::vector<PendingOutput>;

    /// A beam search and its sequences.
    struct BeamGroup {
        BeamSearch search;
        uint32_t answers = 1;
        std::vector<Sequence*> live;              ///< by hypothesis number
        std::vector<Continuations> continuations; ////< by hypothesis number; see Sequence::has_continuations
        uint32_t next_branch = 1;
    };

    [[nodiscard]] bool samples_on_device(const Sequence& sequence) const;
    [[nodiscard]] bool can_generate(const Sequence& sequence) const;
    void schedule_decode(Step& step, Updates& updates, Clock::time_point now);
    bool reserve_page(std::size_t index, Updates& updates, Clock::time_point now);
    void schedule_prefill(Step& step, Updates& updates, Clock::time_point now);
    void continue_prefill(std::size_t index, Step& step);
    void append_prefill(Sequence& sequence, uint32_t count, Step& step);
    void rebalance();
    void release(Sequence& sequence);
    std::size_t admit_waiting(std::size_t index, Step& step, Updates& updates, Clock::time_point now);
    bool allocate_pages(Sequence& sequence);
    void append_rows(Sequence& sequence, uint32_t count, Step& step);
    [[nodiscard]] uint32_t prefill_rows_after(const Sequence& sequence) const;
    [[nodiscard]] uint32_t prefill_rows(const Sequence& sequence, const Step& step) const;
    void request_output(Sequence& sequence, Row& row, Step& step);
    uint32_t reserve_rows(Sequence& sequence);
    void append_drafts(Sequence& sequence, Step& step);
    [[nodiscard]] uint32_t drafts_that_fit(const Sequence& sequence) const;
    void reserve_drafts(Sequence& sequence);
    [[nodiscard]] bool can_draft(const Sequence& sequence) const;
    [[nodiscard]] uint32_t rows_for_drafts() const;
    static void look_up(Sequence& sequence, uint32_t limit);
    static bool draft_accepted(Sequence& sequence, const PendingOutput& pending);
    void resolve_drafts(const Step& step, std::size_t last);
    void request_prompt_logprob(Sequence& sequence, Row& row, Step& step);
    void preempt(Sequence& sequence);
    bool preempt_idle();
    Status take_output(Sequence& sequence, const PendingOutput& pending, const RowOutput& output,
                       Updates& updates, Clock::time_point now);
    Status accept(Sequence& sequence, TokenEvent token, Updates& updates, Clock::time_point now);
    Status end_if_own_fault(Sequence& sequence, const Status& status, Updates& updates,
                            Clock::time_point now);
    void fail(Sequence& sequence, const Error& error, Updates& updates, Clock::time_point now);
    void end(Sequence& sequence, FinishReason reason, Updates& updates, Clock::time_point now);
    void end(Sequence& sequence, Finished finished, Updates& updates);
    void retire(Sequence& sequence, const Error* error);

    void park(Sequence& sequence, const PendingOutput& pending, const RowOutput& output);
    void resume_stalled(Updates& updates, Clock::time_point now);
    Status resume(Sequence& sequence, Updates& updates, Clock::time_point now);
    Status finish_or_force(Sequence& sequence, Updates& updates, Clock::time_point now);

    void begin_beams(const BeamOptions& beams, Sequence& first);
    [[nodiscard]] uint32_t answers_of(RequestId request) const;
    Status store_continuations(Sequence& sequence, const RowOutput& output, uint32_t position,
                               Updates& updates, Clock::time_point now);
    void advance_beams(BeamGroup& group, const Sequence& any, Updates& updates, Clock::time_point now);
    void branch(BeamGroup& group, std::span<const BeamSearch::Branch> branches);
    Result<bool> find_ends(BeamGroup& group);
    void continue_beams(BeamGroup& group, RequestId request, Updates& updates, Clock::time_point now);
    void finish_beam_step(BeamGroup& group, RequestId request, Finished finished, Updates& updates);
    Sequence& fork(const Sequence& parent, uint32_t branch_number);
    void end_beams(RequestId request, Finished finished, Updates& updates);

    static void emit(Updates& updates, RequestId request, uint32_t answer, Event event);

    Limits limits_;
    Admission admission_;
    PageCache cache_;
    std::map<SequenceId, Sequence> sequences_;
    std::map<RequestId, BeamGroup> beams_;
    std::vector<Sequence*> prompts_; ///< running, in prefill; in the order of the batch being built
    bool lacks_pages_ = false;       ///< the next sequence to admit found no pages
    ConstraintRunner constraints_;
    uint64_t preemptions_ = 0;
    std::vector<uint32_t> free_slots_;
    std::deque<Step> steps_; ///< in flight, oldest first
    Batch batch_;
    uint32_t prefill_rows_max_; ///< per batch
    uint32_t prefill_end_ = 0;  ///< row count up to which prefill may fill the batch being built
    uint32_t spare_rows_ = 0;   ///< rows of the batch being built that drafts may use
    DraftCosts draft_costs_;
    bool has_draft_model_ = true; ///< false after drop_draft_model()
    sampling::Sampler sampler_;   ///< for tokens that the device does not draw
};

} // namespace etna::engine
