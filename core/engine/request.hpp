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

/// A request for one continuation, or several by beam search: token ids in, tokens out.
struct Request {
    std::vector<TokenId> prompt = {}; ///< at least one token, fewer than Limits::context_tokens
    /// The row kind that each prompt token was first computed as: answers in the prompt of a later turn then
    /// match the cache as the generation rows that they were. Empty: all prompt rows.
    std::vector<RowKind> kinds = {};
    sampling::Parameters sampling = {}; ///< the draw for the token at position i uses position i - 1
    std::vector<sampling::LogitBias> logit_bias = {};
    sampling::SequenceBreakers dry_breakers = {}; ///< token sequences at which DRY ends a repetition
    /// Reports the log-probability of each prompt token but the first: TokenEvents with Origin::prompt, in
    /// order, before the first token, each with this many `top` (at most Limits::candidates_max). The prompt
    /// is then not taken from the cache, and every row of it runs the LM head. Empty: none are reported.
    std::optional<uint32_t> prompt_candidates = {};
    uint32_t top_candidates = 0;             ///< number of TokenEvent::top; at most Limits::candidates_max
    std::optional<uint32_t> max_tokens = {}; ///< at least 1; empty: until the context is full
    std::vector<TokenId> end_tokens = {};    ///< any of these ends the generation; empty: none does
    uint32_t min_tokens = 0;                 ///< end tokens are banned before this many tokens
    /// The constraint on the answer; null: none. Not shared with other requests. Its rows return all logits,
    /// and wait for the token before.
    std::shared_ptr<Constraint> constraint = {};
    /// Generation pauses while this many tokens are unread in the stream; the few already in flight still
    /// arrive, and prompt tokens count as well. 0: no limit.
    uint32_t unread_max = 0;
    /// Beam search instead of sampling: `BeamOptions::answers` streams, whose generated tokens all arrive at
    /// the end.
    std::optional<BeamOptions> beams = {};
    /// Speculative decoding; no effect on beams and on the output. Its steps are not scheduled ahead of their
    /// results.
    std::optional<Speculation> speculation = {};
    uint64_t cache_salt = 0; ///< requests share cached pages only with requests of the same salt
    ClientId client = 0;     ///< the client it belongs to: the engine is shared fairly among clients
};

enum class Origin : uint8_t { generation, prompt };

/// One generated token, or one of the prompt. Its log-probability is logit - log_sum_exp, in the distribution
/// of the model, before any penalty, bias or filter; the same holds for `top`.
struct TokenEvent {
    TokenId token = 0;
    float logit = 0;
    float log_sum_exp = 0;
    std::vector<sampling::Candidate> top = {}; ///< descending logit, smaller id first among equals
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
        end_token; ///< the one that was generated, with FinishReason::stop; not delivered as a TokenEvent
    std::optional<TokenEvent> end_event; ///< the TokenEvent of `end_token`
    uint32_t prompt_tokens = 0;
    uint32_t completion_tokens = 0; ///< generated; the end token is not counted
    uint32_t cached_tokens =
        0; ///< leading prompt tokens that were not computed because their pages were cached
    uint32_t accepted_drafts = 0; ///< drafted tokens that were accepted; see Request::speculation
    uint32_t rejected_drafts = 0; ///< drafted tokens that were rejected
    /// Positions of the accepted drafts in the answer, ascending: a reader that ends the answer at an earlier
    /// position has no use for the rest.
    std::vector<uint32_t> accepted_places = {};
    Timings timings;
};

using Event = std::variant<TokenEvent, Finished>;

} // namespace etna::engine
