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

/// Bounds that the operator sets.
struct RequestLimits {
    uint32_t choices_max = 16;                     ///< of one prompt
    uint32_t answers_max = 128;                    ///< of one request: its prompts times its choices
    std::optional<uint32_t> max_tokens_limit;      ///< OVMS: default and ceiling of max_tokens
    std::optional<uint32_t> ignore_eos_max_tokens; ///< ceiling of max_tokens for requests with ignore_eos
};

/// Neutral: what OpenAI's API samples with where nobody asks for anything.
sampling::Parameters openai_defaults();

struct RequestContext;

/// The members that chat and completions share: sampling, lengths, stops, seed, n, and etna's, vLLM's and
/// NVIDIA's (`nvext`) additions, of which members at the root win. Those of a request that is to be streamed
/// are checked as such. Mistakes are left in `fields`. Sources: OpenAI API 2.3.0; vLLM sampling parameters;
/// Dynamo NvExt; OVMS completions.
void read_generation(Fields& fields, const RequestContext& context, bool is_streamed,
                     generate::Request& request);

/// Search among several answers at once is for a later version: what asks for it is refused, what asks for
/// none of it is fine. `choices`: what `n` asks for.
void refuse_beams(Fields& fields, Dialect dialect, uint32_t choices);

} // namespace etna::server::openai
