#pragma once

#include "server/openai/generation_call.hpp"

#include <cstdint>
#include <optional>

namespace etna::server::openai {

/// Reads `prompt_logprobs`: the number of top logprobs per prompt position, in addition to the prompt token's
/// own. Source: vLLM's sampling parameters.
std::optional<uint32_t> read_prompt_logprobs(Fields& fields);

/// Adds the member `prompt_logprobs` to the first piece of each choice after the prompt, and to the
/// aggregated choice: a list with null for the first token, and {"ID": {"logprob", "rank", "decoded_token"}}
/// for each of the others, with the `top` most likely tokens. Precondition: the call's writers are set.
/// Source: vLLM's completions.
void tell_prompt_logprobs(GenerationCall& call, uint32_t top);

/// Moves the member from a choice to the root of the response, as in vLLM's chat completions.
void lift_prompt_logprobs(Json& answer);

} // namespace etna::server::openai
