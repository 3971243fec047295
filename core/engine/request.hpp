#pragma once

#include "core/base/error.hpp"
#include "core/base/token.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/beams.hpp"
#include "core/engine/client_shares.hpp"
#include "core/engine/constraint.hpp"
#include "core/engine/speculation.hpp"
#include "core/sampling/breakers.hpp"
#include "core/sampling/candidate.hpp"
#include "core/sampling/logit_bias.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace etna::engine {

/// One continuation that somebody wants, or several by a beam search: token ids in, tokens out.
struct Request {
    std::vector<TokenId> prompt = {}; ///< at least one token, fewer than Limits::context_tokens
    /// What each token of the prompt was computed as when it was first: answers that stand in the prompt of a
    /// later turn are found in the cache as the generation rows that they were. Empty: all prompt rows.
    std::vector<RowKind> kinds = {};
    sampling::Parameters sampling = {}; ///< the draw for the token at place i has the position i - 1
    std::vector<sampling::LogitBias> logit_bias = {};
    sampling::Breakers dry_breakers = {}; ///< where DRY sees repetitions end
    /// Tell also how likely each token of the prompt was, but for the first: TokenEvents with
    /// Origin::prompt, in order, before the first token, each with so many `top` (at most
    /// Limits::candidates_max). None of the prompt is then taken from the cache, and every row of it costs
    /// the vocabulary head. Empty: nothing of the prompt.
    std::optional<uint32_t> prompt_candidates = {};
    uint32_t top_candidates = 0;             ///< how many TokenEvent::top has; at most Limits::candidates_max
    std::optional<uint32_t> max_tokens = {}; ///< at least 1; until the context is full when empty
    std::vector<TokenId> end_tokens = {};    ///< any of these ends the generation; empty never stops
    uint32_t min_tokens = 0;                 ///< before so many, end tokens are impossible
    /// What the answer is kept to; null: nothing. Of this request alone. Its rows cost all logits, and wait
    /// for the token before.
    std::shared_ptr<Constraint> constraint = {};
    /// No token is begun for this request while so many wait in its stream to be read; the few that were
    /// begun by then still come, and those of the prompt count as well. 0: as many as there are.
    uint32_t unread_max = 0;
    /// A beam search instead of sampling: `Beams::answers` streams, and all that they tell comes at the end.
    std::optional<Beams> beams = {};
    /// Guess ahead; without effect on beams and on what is told. Its steps are not begun ahead of their
    /// results.
    std::optional<Speculation> speculation = {};
    uint64_t cache_salt = 0; ///< requests share cached pages only with requests of the same salt
    ClientId client = 0;     ///< whose it is: the engine is shared fairly among clients
};

enum class Origin : uint8_t { generation, prompt };

/// One generated token, or one of the prompt. Its log-probability is logit - log_sum_exp, by the distribution
/// that the model gave, before any penalty, bias or filter; that of `top` likewise.
struct TokenEvent {
    TokenId token = 0;
    float logit = 0;
    float log_sum_exp = 0;
    std::vector<sampling::Candidate> top = {}; ///< falling logit, smaller id first among equals
    Origin origin = Origin::generation;
    uint32_t rank = 0; ///< with Origin::prompt: tokens that were at least as likely, itself included
};

enum class FinishReason : uint8_t {
    stop,      ///< an end token was generated
    length,    ///< max_tokens, the context, or the memory for the cache is used up
    cancelled, ///< on request, by dropping the stream, or because the engine was shut down
    error,     ///< see Finished::error
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
        end_token; ///< which one, with FinishReason::stop; it is not delivered as a TokenEvent
    std::optional<TokenEvent> end_event; ///< of `end_token`, as another token's would be
    uint32_t prompt_tokens = 0;
    uint32_t completion_tokens = 0; ///< generated; the end token is not counted
    uint32_t cached_tokens =
        0; ///< leading prompt tokens that were not computed because their pages were cached
    uint32_t accepted_drafts = 0; ///< tokens that were drafted and came so; see Request::speculation
    uint32_t rejected_drafts = 0; ///< that were drafted and did not
    /// Of the accepted ones, in the answer, rising: who ended it at an earlier place had no use for the rest.
    std::vector<uint32_t> accepted_places = {};
    Timings timings;
};

using Event = std::variant<TokenEvent, Finished>;

} // namespace etna::engine
