#pragma once

#include "core/engine/constraint_workers.hpp"
#include "core/engine/draft_costs.hpp"
#include "core/engine/prompt_lookup.hpp"
#include "core/engine/request.hpp"
#include "core/engine/state_cache.hpp"

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace etna::engine {

using RequestId = uint64_t;

/// Identifies a request's sequence; a beam search has several, with ascending `branch`. The order is the age.
struct SequenceId {
    RequestId request = 0;
    uint32_t branch = 0;

    friend auto operator<=>(const SequenceId&, const SequenceId&) = default;
};

using Clock = std::chrono::steady_clock;

enum class SequenceState : uint8_t {
    waiting, ///< holds no pages
    prefill, ///< known tokens are being computed, in chunks
    decode,  ///< one row for each new token
    finished,
};

/// Whether a sequence pauses for its reader.
enum class Backpressure : uint8_t {
    off,
    on, ///< generates nothing, and holds its pages unless others need them
};

/// The state of a sequence's constraint.
struct ConstraintState {
    /// The output of a row, to be read once the allowed tokens are known.
    struct Parked {
        uint32_t position = 0;
        RowOutput output;
    };

    std::optional<Constraint::Part> known = {}; ///< getters that have results for the next position
    std::shared_ptr<ConstraintJob> job = {};    ///< the job that computes more results; null: none
    bool waits = false; ///< skips steps until the constraint knows whether the sequence ends here
    std::optional<Parked> parked = {};
    /// The rest of Constraint::forced(), the last token first; empty: not queried since the last drawn token.
    std::optional<std::vector<TokenId>> forced = {};
    uint32_t skips = 0;   ///< jobs that go to the workers before the next inline attempt
    uint32_t backoff = 0; ///< latest initial value of `skips`

    /// Whether the sequence waits for its constraint, with nothing in flight.
    [[nodiscard]] bool is_stalled() const { return waits || parked; }
    /// Resets the results after a token was appended.
    void advance() {
        known.reset();
        waits = true;
    }
};

/// The drafts of one sequence.
struct DraftState {
    Speculation options;
    DraftLengthControl lookup_control;
    DraftLengthControl model_control;
    DraftLengthControl head_control;
    PromptLookup lookup;
    std::vector<TokenId> drafts = {};         ///< for the next step
    DraftSource source = DraftSource::lookup; ///< of `drafts`
    /// The last draft of the draft head.
    struct HeadDraft {
        uint32_t position = 0;
        TokenId token = 0;
    };
    std::optional<HeadDraft> head_draft = {};
    uint32_t in_flight = 0;  ///< drafts that are being verified
    uint32_t accept_end = 0; ///< one past the position of the last in-flight draft that can still be accepted
    uint32_t step_accepted = 0; ///< accepted drafts of those in flight
    uint32_t accepted = 0;      ///< accepted drafts in total
    uint32_t rejected = 0;
    std::vector<uint32_t> accepted_positions = {}; ///< in the answer; ascending
    uint32_t computed_by_model = 0; ///< length of the text when the draft model had last computed all of it

    explicit DraftState(const Speculation& speculation);

    /// Whether all sources are paused.
    [[nodiscard]] bool is_paused() const {
        return lookup_control.length() == 0 && model_control.length() == 0 && head_control.length() == 0;
    }

    /// Removes the draft model as a source.
    void drop_model();

    /// Records a step in which nothing was drafted.
    void skip();

    [[nodiscard]] DraftLengthControl& control_of(DraftSource one);

    /// Records that the step in flight has been verified.
    void finish_step(const DraftCosts& costs);
};

/// A request in progress: its tokens, and how many of them are computed.
///
///     0 ........ computed_tokens ........ tokens.size() ........ expected_length()
///     rows were scheduled | known, to be computed | sampled by the device, not read yet
///
/// A row whose token is not read yet takes it from `slot`, so computed_tokens may exceed tokens.size(). Rows
/// of drafts come after that, and count as computed until their step is read.
struct Sequence {
    SequenceId id;
    /// The request, shared by the sequences of a beam search. Its end tokens are ascending and in the
    /// vocabulary; prompt, kinds, constraint and speculation were moved into the members below.
    std::shared_ptr<const Request> request;
    RequestId request_group = 0;        ///< see Scheduler::add()
    std::vector<TokenId> tokens;        ///< prompt, then the generated tokens that were read
    std::vector<RowKind> kinds;         ///< row kind of each token, now and after any recomputation
    HashKey content_key{};              ///< of `content_ids`
    std::vector<ContentId> content_ids; ///< of each token, for the cache
    uint32_t rope_end = 0;              ///< rotary position of the first token after the prompt
    std::vector<float> hidden_states;   ///< [rows, Limits::width], read so far
    std::vector<double> hidden_sum;     ///< [Limits::width], with HiddenRows::mean
    HeldState held;
    uint32_t computed_tokens = 0; ///< positions [0, computed_tokens) have their rows in a scheduled batch
    uint32_t pending_samples = 0; ///< samples that are scheduled but not read
    std::optional<uint32_t> slot; ///< slot of the latest unread sample; empty if the host draws it
    SequenceState state = SequenceState::waiting;
    Backpressure backpressure = Backpressure::off;
    uint32_t continuations = 0; ///< for beam searches: BeamSearch::continuations(); 0 for others
    /// A hypothesis with known continuations, waiting for the others of its search.
    bool has_continuations = false;

    /// Replaces Request::logit_bias for the first Request::min_tokens tokens, and bans the end tokens; null
    /// if that is 0.
    std::shared_ptr<const std::vector<sampling::LogitBias>> early_bias;
    std::shared_ptr<Constraint> constraint; ///< null: none
    ConstraintState constraint_state;
    std::shared_ptr<DraftState> draft_state; ///< null: none; not shared with other sequences
    uint32_t prompt_tokens = 0;
    /// First position whose row has yet to return an output of the prompt.
    uint32_t prompt_output_begin = 0;
    uint32_t cached_tokens = 0;
    uint32_t quantum_end = 0; ///< from this length on, a client with fewer running sequences may preempt it
    uint32_t length_max = 0;  ///< prompt and generated tokens together; the last of them is never computed

    Clock::time_point submitted;
    std::optional<Clock::time_point> admitted;
    std::optional<Clock::time_point> first_token;

    [[nodiscard]] uint32_t length() const { return static_cast<uint32_t>(tokens.size()); }
    [[nodiscard]] bool is_restricted() const { return constraint != nullptr && constraint->restricts(); }
    [[nodiscard]] uint32_t expected_length() const { return length() + pending_samples; }
    [[nodiscard]] uint32_t drafts_in_flight() const { return draft_state ? draft_state->in_flight : 0; }
    [[nodiscard]] bool uses_draft_head() const { return draft_state && draft_state->options.uses_head; }
    /// Whether the draft head drafts at the row at `position`. Not at the first two, so that a plain step is
    /// measured.
    [[nodiscard]] bool requests_head_draft(uint32_t position) const {
        return uses_draft_head() && draft_state->head_control.length() > 0 && position > prompt_tokens;
    }
    [[nodiscard]] ContentRun content() const { return {content_ids, kinds}; }
    [[nodiscard]] RowKind kind(uint32_t position) const {
        return position < kinds.size() ? kinds[position] : RowKind::decode;
    }

    /// One past the last position that the row at `position` attends to.
    [[nodiscard]] uint32_t attend_end(uint32_t position) const;
    [[nodiscard]] RopePosition rope_position(uint32_t position) const;

    /// Whether rows of the prompt have to be computed in one step.
    [[nodiscard]] bool has_whole_segments() const;

    /// Returns the end of the rows from `begin` on, at most `end`, that are of one kind.
    [[nodiscard]] uint32_t same_kind_end(uint32_t begin, uint32_t end) const;

    /// Returns the largest end of rows from `begin` on, at most `end`, that splits no segment whose rows
    /// attend to each other; `begin` if there is none.
    [[nodiscard]] uint32_t whole_segments_end(uint32_t begin, uint32_t end) const;

    /// Whether the row at `position` has to return the log-probability of the prompt's next token, or its
    /// hidden state, before the last row of the prompt.
    [[nodiscard]] bool needs_prompt_output(uint32_t position) const {
        return position >= prompt_output_begin && position + 1 < prompt_tokens;
    }

    [[nodiscard]] bool is_end(TokenId token) const {
        return std::ranges::binary_search(request->end_tokens, token);
    }

    /// Returns the logit bias of the row at `position`.
    [[nodiscard]] std::span<const sampling::LogitBias> bias_at(uint32_t position) const {
        const bool is_early = early_bias != nullptr && position + 1 < prompt_tokens + request->min_tokens;
        return is_early ? *early_bias : request->logit_bias;
    }

    /// Appends the end token to the known content, so that its row, if it was scheduled, can be published.
    /// The sequence is retired next.
    void append_end(TokenId token);

    /// Appends a token that was read, and passes it to the constraint. Precondition: constraint_state.job is
    /// null.
    void append(TokenId token);

    /// Returns a second sequence with the same past, sharing all pages until one of the two writes.
    /// Precondition: pending_samples is 0, constraint_state.job is null.
    [[nodiscard]] Sequence fork(SequenceId new_id, StateCache& cache) const;
};

[[nodiscard]] inline bool is_older(const Sequence* a, const Sequence* b) {
    return a->id < b->id;
}

/// Whether `a` is served before `b`, a sequence of the same client: by priority, then by age.
[[nodiscard]] inline bool has_precedence(const Sequence* a, const Sequence* b) {
    return std::tie(a->request->priority, a->id) < std::tie(b->request->priority, b->id);
}

/// Creates a waiting sequence. Precondition: check(request, limits).
Sequence make_sequence(RequestId id, Request request, const Limits& limits, const StateCache& cache,
                       Clock::time_point now);

/// Returns the last event of a sequence, without reason and error.
Finished describe_end(const Sequence& sequence, Clock::time_point now);

/// Returns the last event of a sequence that ends with an error.
Finished describe_failure(const Sequence& sequence, const Error& error, Clock::time_point now);

} // namespace etna::engine
