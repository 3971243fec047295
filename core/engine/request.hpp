#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/constraint.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/segments.hpp"
#include "core/sampling/breakers.hpp"
#include "core/sampling/candidates.hpp"
#include "core/sampling/logit_processors.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace etna::engine {

/// A client that the engine is shared fairly among, such as a user: a number that the caller of the engine
/// chooses.
using ClientId = uint64_t;

/// When a beam group that has as many complete hypotheses as it may hold continues to search for better ones.
enum class EarlyStopping : uint8_t {
    heuristic, ///< while the best live hypothesis would be better if it ended now
    first,     ///< not at all: the group stops at once
    never,     ///< while the best live hypothesis could become better, at any length
};

/// Options of a beam search; see beam_search.hpp. The filters and the temperature of sampling do not apply.
struct BeamOptions {
    uint32_t width = 1;          ///< live hypotheses, 1..beams_max
    uint32_t groups = 1;         ///< groups of equal size that avoid each other's tokens; divides width
    uint32_t answers = 1;        ///< hypotheses that are returned, at most width
    float diversity_penalty = 0; ///< for each time an earlier group took the token, 0..diversity_penalty_max
    float length_penalty = 1;    ///< exponent of the length, -length_penalty_max..length_penalty_max
    EarlyStopping early_stopping = EarlyStopping::heuristic;
};

constexpr uint32_t beams_max = 64;
constexpr float length_penalty_max = 10;
constexpr float diversity_penalty_max = 100;

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const BeamOptions& beams);

class DraftTexts;

/// How a sequence's next tokens are drafted, to be verified together in one step. The output is that of plain
/// decoding whatever the drafts: every row draws its own token, and the rows after the first mismatching
/// draft are dropped. Useless drafts only cost time, and are paused; see draft_costs.hpp.
struct Speculation {
    /// Maximum drafts of one step, 1..drafts_max; with recurrent layers Limits::pending_rows_max - 1 at most.
    uint32_t tokens_max = 5;
    /// Search the text for an earlier occurrence of its last tokens, up to this many, and draft the tokens
    /// that followed; 0: do not.
    uint32_t lookup_ngram_max = 0;
    std::vector<TokenId> prediction = {}; ///< the expected answer; drafted while the text follows it
    /// Use the draft head of a model that has one, if lookup has no draft or is paused; no effect with a
    /// draft model.
    bool uses_head = false;
    bool uses_model = false; ///< use the draft model, if the other sources have no draft or are paused
    /// The draft model stops at a token that it finds less likely than this, [0, 1]; empty: it does not.
    std::optional<float> confidence_min = {};
    /// The texts to look up drafts in: the result of make_draft_texts() for the prompt, the prediction and
    /// lookup_ngram_max; the engine calls it if null.
    std::shared_ptr<const DraftTexts> texts = {};
};

constexpr uint32_t branch_positions_max = 64;
constexpr uint32_t drafts_max = 32;
constexpr uint32_t ngram_max = 16;

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const Speculation& speculation, uint32_t vocabulary);

/// Which hidden states of a prompt are returned.
enum class HiddenRows : uint8_t {
    first,
    last,
    mean, ///< the mean of all rows, summed in double precision in the order of positions
    all,
};

/// A request for one continuation, or several by beam search: token ids in, tokens out; or for the hidden
/// states of a prompt.
struct Request {
    /// At least one position, fewer than Limits::context_tokens, or as many with `hidden`; `no_token` at
    /// positions with an embedding.
    std::vector<TokenId> prompt = {};
    std::vector<EmbeddingSegment> embeddings = {}; ///< ascending by position
    /// Rotary position of each position of the prompt; the answer continues after the largest component.
    /// Empty: 0, 1, 2 and so on.
    std::vector<RopePosition> rope_positions = {};
    /// The row kind that each prompt token was first computed as, so that earlier answers in the prompt match
    /// their cached decode rows. Empty: all prefill rows.
    std::vector<RowKind> kinds = {};
    /// Positions at which other prompts are likely to diverge from this one, such as the start of the last
    /// message; ascending. A model with recurrent layers takes snapshots there.
    std::vector<uint32_t> branch_positions = {};
    /// Returns hidden states in Finished::hidden instead of an answer. Only with
    /// `last` the prompt is taken from the cache.
    std::optional<HiddenRows> hidden = {};
    /// With `hidden` only: AttentionSpan::segment lets all rows of the prompt attend to each other, as
    /// encoders do.
    AttentionSpan attention = AttentionSpan::causal;
    sampling::Parameters sampling = {}; ///< the draw for the token at position i uses position i - 1
    std::vector<sampling::LogitBias> logit_bias = {};
    sampling::SequenceBreakers dry_breakers = {}; ///< token sequences at which DRY ends a repetition
    /// Returns the log-probability of each prompt token except the first: TokenEvents with Origin::prompt, in
    /// order, before the first token, each with this many `top` (at most Limits::candidates_max). The prompt
    /// is then not taken from the cache, and every row of it runs the LM head. Empty: none are returned.
    std::optional<uint32_t> prompt_candidates = {};
    uint32_t top_candidates = 0;             ///< number of TokenEvent::top; at most Limits::candidates_max
    std::optional<uint32_t> max_tokens = {}; ///< at least 1; empty: until the context is full
    std::vector<TokenId> end_tokens = {};    ///< any of these ends the generation; empty: none does
    uint32_t min_tokens = 0;                 ///< end tokens are banned before this many tokens
    /// The constraint on the answer; null: none. Not shared with other requests. While it restricts the
    /// tokens, rows return all logits, and each waits for the previous token.
    std::shared_ptr<Constraint> constraint = {};
    /// Generation pauses while this many tokens are unread in the stream; the few already in flight still
    /// arrive, and prompt tokens count as well. 0: no limit.
    uint32_t unread_max = 0;
    /// Beam search instead of sampling: `BeamOptions::answers` streams, whose generated tokens all arrive at
    /// the end.
    std::optional<BeamOptions> beams = {};
    /// Speculative decoding; no effect on beams and on the output. Steps with drafts are not scheduled ahead
    /// of the previous result.
    std::optional<Speculation> speculation = {};
    uint64_t cache_salt = 0; ///< requests share cached pages only with requests of the same salt
    ClientId client = 0;     ///< the client that sent it
    /// Order among the requests of one client: smaller numbers first. It never delays another client.
    int32_t priority = 0;
};

/// Number of requests whose Request::priority is below 0, and above.
struct PriorityCounts {
    uint32_t raised = 0;
    uint32_t lowered = 0;

    /// Counts `count` more requests; negative: fewer.
    void add(int32_t priority, int32_t count) {
        if (priority != 0)
            (priority < 0 ? raised : lowered) += static_cast<uint32_t>(count);
    }
};

/// Whether a request can be served at all. Errors: invalid_argument.
Status check(const Request& request, const Limits& limits);

/// Source of a token of a TokenEvent.
enum class Origin : uint8_t { generation, prompt };

/// One generated token, or one of the prompt. Its log-probability is logit - log_sum_exp, in the distribution
/// of the model, before any penalty, bias or filter; the same holds for `top`.
struct TokenEvent {
    TokenId token = 0;
    float logit = 0;
    float log_sum_exp = 0;
    std::vector<sampling::Candidate> top = {}; ///< descending logit, smaller id first among equals
    Origin origin = Origin::generation;
    uint32_t rank = 0; ///< with Origin::prompt: number of tokens at least as likely, itself included
};

enum class FinishReason : uint8_t {
    stop,      ///< an end token was generated, or the hidden states are complete
    length,    ///< max_tokens, the context, or the memory for the cache is used up
    cancelled, ///< on request, by dropping the stream, or because the engine was shut down
    error,     ///< see Finished::error
};

/// The part of a prompt that is in the cache or in a step.
struct PromptProgress {
    uint32_t cached_tokens = 0;   ///< were found in the cache
    uint32_t computed_tokens = 0; ///< have rows in a step, or come from the cache

    bool operator==(const PromptProgress&) const = default;
};

/// Durations of one request, by the steady clock. A phase that was not reached is 0.
struct Timings {
    double queue_ms = 0;      ///< submission to admission
    double prompt_ms = 0;     ///< admission to first token
    double generation_ms = 0; ///< first token to the end
};

/// The last event of a request.
struct Finished {
    FinishReason reason = FinishReason::stop;
    std::optional<Error> error; ///< with FinishReason::error
    std::optional<TokenId>
        end_token; ///< the generated end token, with FinishReason::stop; not delivered as a TokenEvent
    std::optional<TokenEvent> end_event; ///< the TokenEvent of `end_token`
    uint32_t prompt_tokens = 0;
    uint32_t completion_tokens = 0; ///< generated; the end token is not counted
    /// Leading prompt tokens that were not computed because their pages were cached.
    uint32_t cached_tokens = 0;
    uint32_t accepted_drafts = 0; ///< drafted tokens that were accepted; see Request::speculation
    uint32_t rejected_drafts = 0; ///< drafted tokens that were rejected
    /// Positions of the accepted drafts in the answer, ascending, so that a reader that truncates the answer
    /// can count those before its end.
    std::vector<uint32_t> accepted_positions = {};
    std::vector<float> hidden = {}; ///< [rows of HiddenRows, Limits::width], with Request::hidden
    Timings timings;
};

using Event = std::variant<TokenEvent, Finished>;

} // namespace etna::engine
