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

/// A request's sequence; a beam search has several, which rise as well. The order is the age.
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
    hold, ///< it keeps its pages, unless others need them
};

/// How far it is known what a sequence's constraint says.
struct Following {
    /// The answer to a row, which is read when it is known which tokens may come.
    struct Parked {
        uint32_t index = 0;
        RowOutput output;
    };

    std::optional<Constraint::Part> known = {}; ///< of the place behind the last token
    std::shared_ptr<ConstraintJob> job = {};    ///< that finds more; null: none
    bool waits = false; ///< for whether the sequence goes on behind its last token; it takes no part in steps
    std::optional<Parked> parked = {};
    /// What is left of Constraint::forced(), the last token first; empty: not asked since one was drawn.
    std::optional<std::vector<TokenId>> forced = {};
    uint32_t skips = 0;   ///< how often the engine's thread leaves it to others before it tries again
    uint32_t backoff = 0; ///< the last of these numbers

    /// The sequence waits for its constraint, with nothing in flight.
    [[nodiscard]] bool is_stalled() const { return waits || parked; }
    /// A token came.
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
    bool by_model = false;            ///< `drafts` are the draft model's
    uint32_t in_flight = 0;           ///< that are being verified
    uint32_t right_end = 0;           ///< behind the place of the last of these that may be right
    uint32_t step_accepted = 0;       ///< of these
    uint32_t accepted = 0;            ///< of all
    uint32_t rejected = 0;
    std::vector<uint32_t> accepted_places = {}; ///< in the answer, of the accepted ones; rising
    uint32_t computed_by_model = 0; ///< tokens of the text, when the draft model had last computed all of it

    explicit Drafting(const Speculation& speculation);

    /// No source is to be asked.
    [[nodiscard]] bool is_paused() const { return lookup_gain.length() == 0 && model_gain.length() == 0; }

    /// There is no draft model any more.
    void forget_model();

    /// A step went by in which nothing was drafted.
    void skip();

    /// The step in flight has been verified.
    void settle(const DraftCosts& costs);
};

/// One request on its way: what is known of it, and how far it is computed.
///
///     0 ........ computed ........ tokens.size() ........ expected_length()
///     rows were scheduled | known, to be computed | sampled by the device, not read yet
///
/// A row whose token is not read yet takes it from `slot`, so `computed` may pass tokens.size(). Rows of
/// drafts come after that, and count as computed until their step is read.
struct Sequence {
    SequenceId id;
    ClientId client = 0;         ///< Request::client
    RequestId caller = 0;        ///< with whose sequences it shares: see Scheduler::add()
    std::vector<TokenId> tokens; ///< prompt, then what was generated and read
    std::vector<RowKind> kinds;  ///< what each token is computed as, now and after any recovery
    PageTables pages;
    uint32_t computed = 0;        ///< places [0, computed) have their rows in a scheduled batch
    uint32_t unread = 0;          ///< samples that are scheduled and not read
    std::optional<uint32_t> slot; ///< where the latest unread sample will be; empty when the host draws it
    SequenceState state = SequenceState::waiting;
    Pace pace = Pace::go_on;
    uint32_t continuations = 0; ///< of a beam: BeamSearch::continuations()
    bool is_answered = false;   ///< a beam whose continuations are known, and that waits for the others

    sampling::Parameters sampling;
    std::vector<sampling::LogitBias> logit_bias;
    std::vector<sampling::LogitBias> early_bias; ///< instead, for the first `min_tokens`: bans end tokens
    sampling::Breakers dry_breakers;
    std::shared_ptr<Constraint> constraint; ///< null: none
    Following following;                    ///< of the constraint
    std::shared_ptr<Drafting> drafting;     ///< null: none; no other sequence's
    uint32_t top_candidates = 0;
    uint32_t prompt_candidates = 0;  ///< of a row that tells how likely the prompt's next token was
    std::vector<TokenId> end_tokens; ///< ascending
    uint32_t prompt_tokens = 0;
    uint32_t unscored = 0; ///< first place whose row is still to tell how likely the prompt's next token was
    uint32_t cached_tokens = 0;
    uint64_t cache_salt = 0;
    uint32_t min_tokens = 0;
    uint32_t turn_end = 0;   ///< from this length on it gives its place to a client that has fewer
    uint32_t length_max = 0; ///< prompt and generated tokens together; the last of them is never computed

    Clock::time_point submitted;
    std::optional<Clock::time_point> admitted;
    std::optional<Clock::time_point> first_token;

    [[nodiscard]] uint32_t length() const { return static_cast<uint32_t>(tokens.size()); }
    [[nodiscard]] uint32_t expected_length() const { return length() + unread; }
    [[nodiscard]] uint32_t drafts_in_flight() const { return drafting ? drafting->in_flight : 0; }
    [[nodiscard]] Content content() const { return {tokens, kinds}; }
    [[nodiscard]] RowKind kind(uint32_t index) const {
        return index < kinds.size() ? kinds[index] : RowKind::generation;
    }

    /// Whether the row at place `index` has to tell how likely the next token of the prompt was.
    [[nodiscard]] bool scores(uint32_t index) const { return index >= unscored && index + 1 < prompt_tokens; }

    [[nodiscard]] bool is_end(TokenId token) const {
        return std::binary_search(end_tokens.begin(), end_tokens.end(), token);
    }

    /// What the logits of the row at place `index` are changed by.
    [[nodiscard]] std::span<const sampling::LogitBias> bias_at(uint32_t index) const {
        return index + 1 < prompt_tokens + min_tokens ? early_bias : logit_bias;
    }

    /// Adds a token that was read, and tells the constraint. Precondition: following.job is null.
    void append(TokenId token);

    /// A second sequence with the same past, sharing all pages until one of the two writes. Precondition:
    /// unread is 0.
    [[nodiscard]] Sequence fork(SequenceId new_id, PageCache& cache) const;

    /// Forgets everything from place `new_length` on. Precondition: unread is 0, new_length <= length().
    void truncate(uint32_t new_length, PageCache& cache);
};

/// Into a queue that is sorted by age.
template <class Queue>
void insert_by_age(Queue& queue, Sequence& sequence) {
    queue.insert(std::upper_bound(queue.begin(), queue.end(), &sequence,
                                  [](const Sequence* a, const Sequence* b) { return a->id < b->id; }),
                 &sequence);
}

/// A waiting sequence. `request` was found right by check().
Sequence make_sequence(RequestId id, Request request, const Limits& limits, const PageCache& cache,
                       Clock::time_point now);

/// The last event of a sequence, without reason and error.
Finished describe_end(const Sequence& sequence, Clock::time_point now);

} // namespace etna::engine
