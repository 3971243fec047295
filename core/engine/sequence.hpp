#pragma once

#include "core/engine/constraint_workers.hpp"
#include "core/engine/draft_gain.hpp"
#include "core/engine/draft_lookup.hpp"
#include "core/engine/page_cache.hpp"
#include "core/engine/request.hpp"

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

/// Whether a sequence may generate.
enum class Pace : uint8_t {
    go_on,
    hold, ///< holds its pages, unless others need them
};

/// The state of a sequence's constraint.
struct Following {
    /// The output of a row, which is read once the allowed tokens are known.
    struct Parked {
        uint32_t index = 0;
        RowOutput output;
    };

    std::optional<Constraint::Part> known = {}; ///< what is known for the position after the last token
    std::shared_ptr<ConstraintJob> job = {};    ///< the job that computes more; null: none
    bool waits = false; ///< for whether it continues after its last token; it skips steps until then
    std::optional<Parked> parked = {};
    /// The rest of Constraint::forced(), the last token first; empty: not queried since the last drawn token.
    std::optional<std::vector<TokenId>> forced = {};
    uint32_t skips = 0;   ///< how often the work is left to the workers before the next inline try
    uint32_t backoff = 0; ///< the last initial value of `skips`

    /// Whether the sequence waits for its constraint, with nothing in flight.
    [[nodiscard]] bool is_stalled() const { return waits || parked; }
    /// A token was appended.
    void move_on() {
        known.reset();
        waits = true;
    }
};

/// The drafts of one sequence.
struct Drafting {
    Speculation wish;
    DraftGain lookup_gain;
    DraftGain model_gain;
    DraftLookup lookup;
    std::vector<TokenId> drafts = {}; ///< for the next step
    bool by_model = false;            ///< `drafts` came from the draft model
    uint32_t in_flight = 0;           ///< drafts that are being verified
    uint32_t right_end = 0; ///< one past the position of the last in-flight draft that can still be accepted
    uint32_t step_accepted = 0; ///< accepted drafts of those in flight
    uint32_t accepted = 0;      ///< accepted drafts in total
    uint32_t rejected = 0;
    std::vector<uint32_t> accepted_places = {}; ///< positions of the accepted drafts in the answer; ascending
    uint32_t computed_by_model = 0; ///< length of the text when the draft model had last computed all of it

    explicit Drafting(const Speculation& speculation);

    /// Whether no source may draft.
    [[nodiscard]] bool is_paused() const { return lookup_gain.length() == 0 && model_gain.length() == 0; }

    /// Removes the draft model as a source.
    void forget_model();

    /// Records a step in which nothing was drafted.
    void skip();

    /// Records that the step in flight has been verified.
    void settle(const DraftCosts& costs);
};

/// A request in progress: its tokens, and how far they are computed.
///
///     0 ........ computed ........ tokens.size() ........ expected_length()
///     rows were scheduled | known, to be computed | sampled by the device, not read yet
///
/// A row whose token is not read yet takes it from `slot`, so `computed` may exceed tokens.size(). Rows of
/// drafts come after that, and count as computed until their step is read.
struct Sequence {
    SequenceId id;
    ClientId client = 0;         ///< Request::client
    RequestId caller = 0;        ///< the group that it belongs to: see Scheduler::add()
    std::vector<TokenId> tokens; ///< prompt, then the generated tokens that were read
    std::vector<RowKind> kinds;  ///< row kind of each token, now and after any recomputation
    PageTables pages;
    uint32_t computed = 0;        ///< positions [0, computed) have their rows in a scheduled batch
    uint32_t unread = 0;          ///< samples that are scheduled but not read
    std::optional<uint32_t> slot; ///< slot of the latest unread sample; empty if the host draws it
    SequenceState state = SequenceState::waiting;
    Pace pace = Pace::go_on;
    uint32_t continuations = 0; ///< for beam searches: BeamSearch::continuations(); 0 for others
    bool is_answered = false;   ///< a hypothesis whose continuations are known, and that waits for the others

    sampling::Parameters sampling;
    std::vector<sampling::LogitBias> logit_bias;
    std::vector<sampling::LogitBias> early_bias; ///< for the first `min_tokens` instead: bans end tokens
    sampling::SequenceBreakers dry_breakers;
    std::shared_ptr<Constraint> constraint; ///< null: none
    Following following;                    ///< state of the constraint
    std::shared_ptr<Drafting> drafting;     ///< null: none; not shared with other sequences
    uint32_t top_candidates = 0;
    uint32_t prompt_candidates = 0;  ///< Row::candidates of a row that scores the prompt's next token
    std::vector<TokenId> end_tokens; ///< ascending
    uint32_t prompt_tokens = 0;
    uint32_t unscored = 0; ///< first position whose row has yet to score the prompt's next token
    uint32_t cached_tokens = 0;
    uint64_t cache_salt = 0;
    uint32_t min_tokens = 0;
    uint32_t turn_end = 0;   ///< from this length on it yields to a client with fewer running sequences
    uint32_t length_max = 0; ///< prompt and generated tokens together; the last of them is never computed

    Clock::time_point submitted;
    std::optional<Clock::time_point> admitted;
    std::optional<Clock::time_point> first_token;

    [[nodiscard]] uint32_t length() const { return static_cast<uint32_t>(tokens.size()); }
    [[nodiscard]] uint32_t expected_length() const { return length() + unread; }
    [[nodiscard]] uint32_t drafts_in_flight() const { return drafting ? drafting->in_flight : 0; }
    [[nodiscard]] Content content() const { return {tokens, kinds}; }
    [[nodiscard]] RowKind kind(uint32_t index) const {
        return index < kinds.size() ? kinds[index] : RowKind::decode;
    }

    /// Whether the row at position `index` has to return the log-probability of the prompt's next token.
    [[nodiscard]] bool scores(uint32_t index) const { return index >= unscored && index + 1 < prompt_tokens; }

    [[nodiscard]] bool is_end(TokenId token) const {
        return std::binary_search(end_tokens.begin(), end_tokens.end(), token);
    }

    /// The logit bias of the row at position `index`.
    [[nodiscard]] std::span<const sampling::LogitBias> bias_at(uint32_t index) const {
        return index + 1 < prompt_tokens + min_tokens ? early_bias : logit_bias;
    }

    /// Appends a token that was read, and passes it to the constraint. Precondition: following.job is null.
    void append(TokenId token);

    /// Returns a second sequence with the same past, sharing all pages until one of the two writes.
    /// Precondition: unread is 0, following.job is null.
    [[nodiscard]] Sequence fork(SequenceId new_id, PageCache& cache) const;

    /// Drops everything from position `new_length` on. Precondition: unread is 0, new_length <= length().
    void truncate(uint32_t new_length, PageCache& cache);
};

/// Inserts into a queue that is sorted by age.
template <class Queue>
void insert_by_age(Queue& queue, Sequence& sequence) {
    queue.insert(std::upper_bound(queue.begin(), queue.end(), &sequence,
                                  [](const Sequence* a, const Sequence* b) { return a->id < b->id; }),
                 &sequence);
}

/// Makes a waiting sequence. Precondition: check(request, limits).
Sequence make_sequence(RequestId id, Request request, const Limits& limits, const PageCache& cache,
                       Clock::time_point now);

/// The last event of a sequence, without reason and error.
Finished describe_end(const Sequence& sequence, Clock::time_point now);

} // namespace etna::engine
