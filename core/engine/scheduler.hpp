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
    HashKey hash_key{};      ///< secret, so that nobody can construct pages with equal hashes
    uint64_t model_salt = 0; ///< differs for weights that differ
};

/// Something that a request's stream must be told.
struct Update {
    RequestId request = 0;
    uint32_t answer = 0; ///< which of a beam search's; 0 of others
    Event event;
};
using Updates = std::vector<Update>;

/// Whether a request can be served at all. Errors: invalid_argument.
Status check(const Request& request, const Limits& limits);

/// Whether limits make sense. Errors: invalid_argument.
Status check(const Limits& limits);

/// Decides which rows run in each step. No threads, no clock, no device; every state change is one of its
/// verbs.
///
/// Batches are made ahead of their results: schedule() may be called again before the outputs of the batch
/// before are published, and then lets the next row of a sequence read the slot where its token will be. So
/// an end token is noticed one step late, and what was computed past it is dropped. A sequence whose
/// constraint does not know yet what may come takes no part, and goes on where it was.
///
/// Order: a row for every sequence that generates, oldest first; then prompts in chunks, of which one that
/// does not end in this batch leaves up to half of the rows to those behind it. Prompts come by client, the
/// one that has had the fewest rows first (see ClientShares), waiting requests among them while their known
/// tokens find pages; within a client running prompts come first, then waiting requests by the caller with
/// the fewest places, then first come first served. When a sequence that generates finds no page, the
/// youngest of the client that has had the most gives its pages back and waits; its tokens are computed again
/// later, as the same kind of rows. A sequence that is held, or a hypothesis of a beam search that waits for
/// the others of its search, gives way to any that waits. A sequence that is alone then has used up the
/// memory, and ends with FinishReason::length.
///
/// Where places or pages are short, a client that has had less gets a place of one that has two more, or
/// after a turn of some hundred tokens of one that has one more; a caller that has none gets one of a caller
/// of the same client that has several.
///
/// The caller submits every batch with rows, in order, and publishes the outputs in the same order.
class Scheduler {
public:
    /// Precondition: check(limits).
    Scheduler(const Limits& limits, const SchedulerOptions& options);

    /// Queues a request. Ids must rise: they are the age. Precondition: check(request, limits), and
    /// make_draft_texts() was called.
    /// `caller`: the first of the requests that belong together, such as the choices of one answer; itself
    /// when empty.
    void add(RequestId id, Request request, Clock::time_point now,
             std::optional<RequestId> caller = std::nullopt);

    /// Drafts what can be drafted without a model for the next batch, and returns who wants drafts of one;
    /// their contents hold until the next call of anything.
    std::vector<DraftWish> draft();

    /// Hands over what the draft model made of draft()'s wishes, in order.
    void take_drafts(std::span<const DraftWish> wishes, std::vector<ModelDrafts> drafts);

    /// Nobody wishes a model's drafts from now on, or waits for them.
    void forget_draft_model();

    /// How many prefill rows a batch may have from now on, at most; at first as many as rows.
    void set_prefill_rows_max(uint32_t rows) { prefill_rows_max_ = rows; }

    /// What drafts cost from now on, as measured.
    void set_costs(const DraftCosts& costs) { draft_costs_ = costs; }

    /// The next batch; without rows when nothing can run before outputs are published. Valid until the next
    /// call.
    const Batch& schedule(Updates& updates, Clock::time_point now);

    /// Lets the constraints of the batch that was scheduled last find out what may come next, while the
    /// device computes it.
    void prepare_constraints();

    /// Who works on constraints that take long, from now on; borrowed. Without them it is done at once,
    /// however long it takes.
    void use(ConstraintWorkers& workers) { workers_ = &workers; }

    /// Whether a sequence takes no part in steps until a ConstraintWorkers is done with its constraint.
    [[nodiscard]] bool waits_for_constraints() const { return !stalled_.empty(); }

    /// Takes the outputs of the oldest batch that has none yet. A request whose own parameters leave no token
    /// ends with FinishReason::error. Errors: internal (the outputs do not match it, or are no numbers).
    Status publish(const Outputs& outputs, Updates& updates, Clock::time_point now);

    /// Ends a request at once and frees its pages; unknown and finished ones are ignored.
    void cancel(RequestId id, Updates& updates, Clock::time_point now);

    /// Lets a request wait, or go on; unknown and finished ones are ignored.
    void set_pace(RequestId id, Pace pace);

    /// Whether a request has had a place in a step; false for unknown and finished ones.
    [[nodiscard]] bool has_begun(RequestId id) const;

    /// How many of a request's known tokens have no row yet; empty where it has no place in the steps. Not of
    /// a beam search.
    [[nodiscard]] std::optional<uint32_t> rows_left(RequestId id) const;

    /// Whether a request is held.
    [[nodiscard]] bool holds_any() const;

    /// Ends every request.
    void end_all(FinishReason reason, const std::optional<Error>& error, Updates& updates,
                 Clock::time_point now);

    [[nodiscard]] bool is_idle() const { return sequences_.empty(); }
    [[nodiscard]] uint32_t waiting_count() const { return static_cast<uint32_t>(waiting_.size()); }
    [[nodiscard]] uint32_t running_count() const { return static_cast<uint32_t>(running_.size()); }
    /// How many times a sequence has given its pages back since the start.
    [[nodiscard]] uint64_t preemptions() const { return preemptions_; }
    [[nodiscard]] const PageCache& cache() const { return cache_; }

    /// Checks all invariants. Slow: for tests, and builds with ETNA_CHECKS after every step. Errors:
    /// internal.
    [[nodiscard]] Status verify() const;

private:
    /// A row that wants an output, to be recognised when it comes.
    struct Wanted {
        SequenceId sequence;
        uint32_t index = 0;
        std::optional<uint32_t> slot = {};
        std::optional<TokenId> draft = {}; ///< what the row took for the token before, if that was not known
    };
    using Step = std::vector<Wanted>;

    /// A beam search and its sequences.
    struct BeamGroup {
        BeamSearch search;
        uint32_t answers = 1;
        std::vector<Sequence*> live;              ///< by the number of their hypothesis
        std::vector<Continuations> continuations; ///< of those that are answered
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

    void begin_beams(const Beams& beams, Sequence& first);
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
    std::vector<Sequence*> prompts_; ///< of the running ones, in the order of the batch being made
    WaitingLine waiting_;
    ClientShares shares_;
    bool lacks_pages_ = false; ///< somebody with a right to a place found no pages for it
    ConstraintWorkers* workers_ = nullptr;
    std::vector<SequenceId> stalled_; ///< see Following::is_stalled(); some may be gone
    uint64_t preemptions_ = 0;
    std::vector<uint32_t> free_slots_;
    std::deque<Step> steps_; ///< without outputs yet, oldest first
    Batch batch_;
    uint32_t prefill_rows_max_; ///< of any batch
    uint32_t prefill_end_ = 0;  ///< rows of the batch being made that prefill may fill it up to
    uint32_t spare_rows_ = 0;   ///< of the batch being made, that drafts may take
    DraftCosts draft_costs_;
    bool has_draft_model_ = true; ///< as far as is known
    sampling::Sampler sampler_;   ///< for what the device does not draw
};

} // namespace etna::engine
