#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/beam_search.hpp"
#include "core/engine/constraint_workers.hpp"
#include "core/engine/draft_wish.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/page_cache.hpp"
#include "core/engine/request.hpp"
#include "core/engine/sequence.hpp"
#include "core/engine/waiting_line.hpp"
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
    uint32_t answer = 0; ///< which answer of a beam search; 0 for others
    Event event;
};
using Updates = std::vector<Update>;

/// Whether a request can be served at all. Errors: invalid_argument.
Status check(const Request& request, const Limits& limits);

/// Whether limits make sense. Errors: invalid_argument.
Status check(const Limits& limits);

/// Decides which rows run in each step. No threads, no clock, no device; state changes only in its public
/// functions.
///
/// Batches are built ahead of their results: schedule() may be called again before the outputs of the
/// previous batch are published, and then lets the next row of a sequence read the slot that will hold its
/// token. So an end token is noticed one step late, and the rows computed past it are dropped. A sequence
/// whose constraint has not computed the allowed tokens yet skips steps, and then resumes.
///
/// Order: one row for every decoding sequence, oldest first; then prompts in chunks, of which one that does
/// not end in this batch leaves up to half of the rows to those after it. Prompts come by client, the one
/// that was served the fewest rows first (see ClientShares), waiting requests among them while their known
/// tokens find pages; within a client running prompts come first, then waiting requests by the caller with
/// the fewest running sequences, then first come first served. If a decoding sequence finds no page, the
/// youngest of the client that was served most releases its pages and waits; its tokens are recomputed later,
/// as the same kind of rows. A sequence that is held, or a hypothesis of a beam search that waits for the
/// others of its search, is preempted for any that waits. A sequence that is alone then has used up the
/// memory, and ends with FinishReason::length.
///
/// When capacity or pages are short, the scheduler preempts a sequence of a client that runs two more than a
/// client that was served less, or, after a quantum of some hundred tokens, one more; a caller without
/// running sequences replaces one of a caller of the same client that has several.
///
/// The caller submits every batch with rows, in order, and publishes the outputs in the same order.
class Scheduler {
public:
    /// Precondition: check(limits).
    Scheduler(const Limits& limits, const SchedulerOptions& options);

    /// Queues a request. Ids must be ascending: they are the age. Precondition: check(request, limits), and
    /// make_draft_texts() was called. `caller`: the first of the requests that belong together, such as the
    /// choices of one answer; itself if empty.
    void add(RequestId id, Request request, Clock::time_point now,
             std::optional<RequestId> caller = std::nullopt);

    /// Drafts for the next batch without a model if possible, and returns the sequences that request drafts
    /// from a model; their contents are valid until the next call of any member.
    std::vector<DraftWish> draft();

    /// Stores the draft model's results for draft()'s wishes, in order.
    void take_drafts(std::span<const DraftWish> wishes, std::vector<ModelDrafts> drafts);

    /// Ends drafting by a model: no sequence requests or waits for such drafts afterwards.
    void forget_draft_model();

    /// Sets the maximum number of prefill rows in a batch; initially the maximum number of rows.
    void set_prefill_rows_max(uint32_t rows) { prefill_rows_max_ = rows; }

    /// Sets the cost of drafts, as measured.
    void set_costs(const DraftCosts& costs) { draft_costs_ = costs; }

    /// Returns the next batch; without rows if nothing can run before outputs are published. Valid until the
    /// next call.
    const Batch& schedule(Updates& updates, Clock::time_point now);

    /// Lets the constraints of the last scheduled batch compute the allowed tokens while the device runs it.
    void prepare_constraints();

    /// Sets the workers for slow constraint work; borrowed. Without them it runs inline, however long it
    /// takes.
    void use(ConstraintWorkers& workers) { workers_ = &workers; }

    /// Whether a sequence skips steps until a ConstraintWorkers is done with its constraint.
    [[nodiscard]] bool waits_for_constraints() const { return !stalled_.empty(); }

    /// Processes the outputs of the oldest batch that has none yet. A request whose own parameters leave no
    /// token ends with FinishReason::error. Errors: internal (the outputs do not match the batch, or are not
    /// numbers).
    Status publish(const Outputs& outputs, Updates& updates, Clock::time_point now);

    /// Ends a request at once and frees its pages; no effect on unknown and finished ones.
    void cancel(RequestId id, Updates& updates, Clock::time_point now);

    /// Holds a request, or lets it continue; no effect on unknown and finished ones.
    void set_pace(RequestId id, Pace pace);

    /// Whether a request has been admitted; false for unknown and finished ones.
    [[nodiscard]] bool has_begun(RequestId id) const;

    /// Returns how many of the request's known tokens are not yet scheduled; empty while it is waiting. Not
    /// for beam searches.
    [[nodiscard]] std::optional<uint32_t> rows_left(RequestId id) const;

    /// Whether a request is held.
    [[nodiscard]] bool holds_any() const;

    /// Ends every request.
    void end_all(FinishReason reason, const std::optional<Error>& error, Updates& updates,
                 Clock::time_point now);

    [[nodiscard]] bool is_idle() const { return sequences_.empty(); }
    [[nodiscard]] uint32_t waiting_count() const { return static_cast<uint32_t>(waiting_.size()); }
    [[nodiscard]] uint32_t running_count() const { return static_cast<uint32_t>(running_.size()); }
    /// How many times a sequence was preempted since the start.
    [[nodiscard]] uint64_t preemptions() const { return preemptions_; }
    [[nodiscard]] const PageCache& cache() const { return cache_; }

    /// Checks all invariants. Slow: for tests, and for builds with ETNA_CHECKS after every step. Errors:
    /// internal.
    [[nodiscard]] Status verify() const;

private:
    /// A row with a pending output, to match the output when it arrives.
    struct Wanted {
        SequenceId sequence;
        uint32_t index = 0;
        std::optional<uint32_t> slot = {};
        std::optional<TokenId> draft = {}; ///< the draft that the row reads; empty if its token was known
    };
    using Step = std::vector<Wanted>;

    /// A beam search and its sequences.
    struct BeamGroup {
        BeamSearch search;
        uint32_t answers = 1;
        std::vector<Sequence*> live;              ///< by hypothesis number
        std::vector<Continuations> continuations; ///< of the hypotheses that are answered
        uint32_t next_branch = 1;
    };

    [[nodiscard]] bool samples_on_device(const Sequence& sequence) const;
    [[nodiscard]] bool can_generate(const Sequence& sequence) const;
    void schedule_generation(Step& step, Updates& updates, Clock::time_point now);
    bool find_page(std::size_t place, Updates& updates, Clock::time_point now);
    [[nodiscard]] Sequence& first_to_yield(std::size_t first) const;
    void schedule_prompts(Step& step, Updates& updates, Clock::time_point now);
    [[nodiscard]] bool is_served_before(const Sequence& a, const Sequence& b) const;
    void schedule_known(Sequence& sequence, Step& step);
    void share_places();
    [[nodiscard]] Sequence* owed_by_client(const Sequence& next) const;
    [[nodiscard]] Sequence* owed_by_caller(const Sequence& next) const;
    [[nodiscard]] std::size_t places_of(RequestId caller) const;
    [[nodiscard]] Sequence* next_waiting() const;
    [[nodiscard]] Sequence* next_of(const WaitingLine::Line& line) const;
    void start_running(Sequence& sequence);
    void stop_running(Sequence& sequence);
    void wait(Sequence& sequence);
    std::size_t admit_waiting(std::size_t place, Step& step, Updates& updates, Clock::time_point now);
    bool take_pages(Sequence& sequence);
    void append_rows(Sequence& sequence, uint32_t count, Step& step);
    [[nodiscard]] uint32_t known_rows_behind(const Sequence& sequence) const;
    [[nodiscard]] uint32_t known_rows(const Sequence& sequence, const Step& step) const;
    void want_output(Sequence& sequence, Row& row, Step& step);
    uint32_t reserve_known(Sequence& sequence);
    void append_drafts(Sequence& sequence, Step& step);
    [[nodiscard]] uint32_t drafts_that_fit(const Sequence& sequence) const;
    void reserve_drafts(Sequence& sequence);
    [[nodiscard]] bool can_draft(const Sequence& sequence) const;
    [[nodiscard]] uint32_t rows_for_drafts() const;
    static void look_up(Sequence& sequence, uint32_t most);
    static bool came_right(Sequence& sequence, const Wanted& wanted);
    void settle_drafts(const Step& step, std::size_t last);
    void want_score(Sequence& sequence, Row& row, Step& step);
    void preempt(Sequence& sequence);
    [[nodiscard]] Sequence* held() const;
    bool preempt_held();
    Status take_output(Sequence& sequence, const Wanted& wanted, const RowOutput& output, Updates& updates,
                       Clock::time_point now);
    Status accept(Sequence& sequence, TokenEvent token, Updates& updates, Clock::time_point now);
    Status settle(Sequence& sequence, const Status& status, Updates& updates, Clock::time_point now);
    void fail(Sequence& sequence, const Error& error, Updates& updates, Clock::time_point now);
    void end(Sequence& sequence, FinishReason reason, Updates& updates, Clock::time_point now);
    void end(Sequence& sequence, Finished finished, Updates& updates);
    void retire(Sequence& sequence, const Error* error);

    Result<bool> is_known(Sequence& sequence, Constraint::Part part);
    bool prepare_now(Sequence& sequence, Constraint::Part part);
    void stall(const Sequence& sequence);
    void park(Sequence& sequence, const Wanted& wanted, const RowOutput& output);
    void go_on_with_stalled(Updates& updates, Clock::time_point now);
    Status go_on(Sequence& sequence, Updates& updates, Clock::time_point now);
    Status follow(Sequence& sequence, Updates& updates, Clock::time_point now);
    static std::optional<TokenId> next_forced(Sequence& sequence);

    void begin_beams(const BeamOptions& beams, Sequence& first);
    [[nodiscard]] uint32_t answers_of(RequestId request) const;
    Status answer_beam(Sequence& sequence, const RowOutput& output, uint32_t index, Updates& updates,
                       Clock::time_point now);
    void advance_beams(BeamGroup& group, const Sequence& any, Updates& updates, Clock::time_point now);
    void branch(BeamGroup& group, std::span<const BeamSearch::Branch> branches);
    Result<bool> find_ends(BeamGroup& group);
    void settle_branches(BeamGroup& group, RequestId request, Updates& updates, Clock::time_point now);
    void conclude_step(BeamGroup& group, RequestId request, Finished finished, Updates& updates);
    Sequence& fork(const Sequence& parent, uint32_t branch);
    void end_beams(RequestId request, Finished finished, Updates& updates);

    static void tell(Updates& updates, RequestId request, uint32_t answer, Event event);

    Limits limits_;
    uint32_t running_max_;
    PageCache cache_;
    std::map<SequenceId, Sequence> sequences_;
    std::map<RequestId, BeamGroup> beams_;
    std::vector<Sequence*> running_; ///< prefill and decode, oldest first
    std::vector<Sequence*> prompts_; ///< of the running ones, in the order of the batch being built
    WaitingLine waiting_;
    ClientShares shares_;
    bool lacks_pages_ = false; ///< a sequence that was entitled to run found no pages
    ConstraintWorkers* workers_ = nullptr;
    std::vector<SequenceId> stalled_; ///< see Following::is_stalled(); some may have ended
    uint64_t preemptions_ = 0;
    std::vector<uint32_t> free_slots_;
    std::deque<Step> steps_; ///< without outputs yet, oldest first
    Batch batch_;
    uint32_t prefill_rows_max_; ///< per batch
    uint32_t prefill_end_ = 0;  ///< row count up to which prefill may fill the batch being built
    uint32_t spare_rows_ = 0;   ///< rows of the batch being built that drafts may use
    DraftCosts draft_costs_;
    bool has_draft_model_ = true; ///< false after forget_draft_model()
    sampling::Sampler sampler_;   ///< for tokens that the device does not draw
};

} // namespace etna::engine
