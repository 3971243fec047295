#pragma once

#include "core/generate/generate.hpp"
#include "server/fields.hpp"

#include <cstdint>
#include <optional>

namespace etna::server::openai {

/// Whose API a path speaks where two differ.
enum class Dialect : uint8_t {
    openai,
    ovms, ///< OpenVINO Model Server: the paths below /v3
};

/// Bounds that the operator sets, and what else holds for all requests.
struct RequestLimits {
    uint32_t choices_max = 128;                    ///< of one prompt, those that are not told included
    uint32_t answers_max = 128;                    ///< of one request: its prompts times these
    std::optional<uint32_t> max_tokens_limit;      ///< OVMS: default and ceiling of max_tokens
    std::optional<uint32_t> ignore_eos_max_tokens; ///< ceiling of max_tokens for requests with ignore_eos
    std::optional<uint32_t> prompt_tokens_max;     ///< of a prompt, as the model is given it
    bool has_strict_tools = false;                 ///< see generate::Request
};

/// What is sampled with where neither the request nor the model says anything: OpenAI's are neutral, OVMS
/// keeps 40 tokens.
sampling::Parameters sampling_defaults(Dialect dialect);

struct RequestContext;

/// The members that chat and completions share: sampling, lengths, stops, seed, n, and etna's, vLLM's and
/// NVIDIA's (`nvext`) additions, of which members at the root win. Those of a request that is to be streamed
/// are checked as such. Mistakes are left in `fields`. Sources: OpenAI API 2.3.0; vLLM sampling parameters;
/// Dynamo NvExt; OVMS completions.
void read_generation(Fields& fields, const RequestContext& context, bool is_streamed,
                     generate::Request& request);

/// `logit_bias`, `stop_token_ids`, and vLLM's `allowed_token_ids`; its `bad_words` and `logprob_token_ids`
/// are refused. Sources: OpenAI API 2.3.0; vLLM sampling parameters.
void read_tokens(Fields& fields, uint32_t vocabulary, generate::Request& request);

/// Whether a request that ignores the model's end has a bound; asked when its max_tokens is settled.
void check_ignored_end(Fields& fields, const RequestLimits& limits, const generate::Request& request);

/// `best_of` and the members of beam search. On OVMS's paths a best_of above 1 means a search of that width;
/// on OpenAI's it means samples of which the best are told, except where `use_beam_search` or `num_beams` ask
/// for a search, or temperature 0, the request's or else the model's, leaves nothing to sample. Sources:
/// OpenAI API, OVMS completions, vLLM, Hugging Face's names. Precondition: `n` and the temperature have been
/// read.
void read_beams(Fields& fields, const RequestContext& context, generate::Request& request);

/// Whether so many prompts, each with all answers that are made of it, are within the limit.
void check_answers(Fields& fields, const RequestLimits& limits, std::size_t prompts,
                   const generate::Request& request);

/// `num_assistant_tokens` or `assistant_confidence_threshold`, and `max_ngram_size`. Without effect where
/// nothing can draft. Source: OVMS completions.
void read_speculation(Fields& fields, generate::Request& request);

/// `prediction`, as OpenAI's chat completions have it.
void read_prediction(Fields& fields, generate::Request& request);

} // namespace etna::server::openai
