#pragma once

#include "core/generate/generation.hpp"
#include "server/api/request_context.hpp"
#include "server/base/fields.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::api {

/// Returns the sampling defaults if neither the request nor the model sets them: neutral for OpenAI, top_k 40
/// for OVMS.
sampling::Parameters sampling_defaults(Dialect dialect);

/// The members that limit the answer's length; those of the OpenAI API by default.
struct LengthMembers {
    std::vector<std::string_view> names = {"max_completion_tokens", "max_tokens"}; ///< by preference
    int64_t max_tokens_min = 1; ///< minimum of `max_tokens`; 0: requests may ask for the prompt only
};

constexpr std::size_t stops_max = 32; ///< stop strings of a request

/// Reads `stop`: one string or a list, none of them empty.
std::vector<std::string> read_stop_strings(Fields& fields);

/// Reads `seed`. Empty: random; -1 also selects that, as in llama.cpp.
std::optional<int64_t> read_seed(Fields& fields);

/// Reads a limit on the answer's length into a request that has none yet: a number of tokens from `min` on,
/// or -1 or -2 for no bound, as in llama.cpp and LM Studio. Returns whether it is used. Errors are recorded
/// in `fields`.
bool read_length(Fields& fields, std::string_view name, int64_t min, generate::Request& request);

/// Reads the fields common to chat, completions and responses: sampling, lengths, stops, seed, n, and the
/// extensions of etna, vLLM and NVIDIA (`nvext`); fields at the root take precedence. `is_streamed` selects
/// the checks for streams. Errors are recorded in `fields`. Sources: OpenAI API 2.3.0; vLLM sampling
/// parameters; Dynamo NvExt; OVMS completions.
void read_generation(Fields& fields, const RequestContext& context, bool is_streamed,
                     generate::Request& request, const LengthMembers& lengths = {});

/// Applies the operator's settings, and the members that override them in every API: `stop_in_reasoning`,
/// and those of read_reasoning_limit().
void read_operator_settings(Fields& fields, const RequestLimits& limits, generate::Request& request);

/// Reads vLLM's `priority`: smaller numbers are served first; 0 if absent.
int32_t read_priority(Fields& fields);

/// Reads a list of token ids; empty if absent or invalid.
std::vector<TokenId> read_token_list(Fields& fields, std::string_view name, uint32_t vocabulary);

/// Reads `logit_bias`, `stop_token_ids`, and vLLM's `allowed_token_ids`; its `bad_words` and
/// `logprob_token_ids` are refused. Sources: OpenAI API 2.3.0; vLLM sampling parameters.
void read_tokens(Fields& fields, uint32_t vocabulary, generate::Request& request);

/// Checks that a request with ignore_eos is bounded. Call after max_tokens is final. `member`: its name in
/// the request.
void check_ignored_end(Fields& fields, const RequestLimits& limits, const generate::Request& request,
                       std::string_view member = "max_tokens");

/// Reads `best_of` and the beam search fields. On OVMS paths, best_of above 1 is the beam width; on OpenAI
/// paths, it is the number of samples of which the best are returned, unless `use_beam_search` or `num_beams`
/// requests beam search, or temperature 0, the request's or else the model's, makes sampling pointless.
/// Sources: OpenAI API, OVMS completions, vLLM, Hugging Face's names. Precondition: `n` and the temperature
/// have been read.
void read_beams(Fields& fields, const RequestContext& context, generate::Request& request);

/// Checks that the number of prompts times choices per prompt is within the limit.
void check_answers(Fields& fields, const RequestLimits& limits, std::size_t prompts,
                   const generate::Request& request);

/// Reads `num_assistant_tokens` or `assistant_confidence_threshold`, and `max_ngram_size`. Without effect if
/// no drafter is available. Source: OVMS completions.
void read_speculation(Fields& fields, generate::Request& request);

/// Reads `prediction` of OpenAI's chat completions.
void read_prediction(Fields& fields, generate::Request& request);

} // namespace etna::server::api
