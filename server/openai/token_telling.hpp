#pragma once

#include "server/openai/generation_call.hpp"

namespace etna::server::openai {

/// Token output options other than text and logprobs. Source: vLLM's extra parameters.
struct TokenWishes {
    bool ids = false;          ///< `return_token_ids`
    bool ids_as_names = false; ///< `return_tokens_as_token_ids`: tokens are named by id
};

TokenWishes read_token_wishes(Fields& fields);

/// Whether tokens must be delivered one by one, in addition to the text.
bool needs_tokens(const TokenWishes& overrides, const Delivery& delivery);

/// Adds `token_ids` to each piece of a choice, with the tokens since the previous piece, and
/// `prompt_token_ids` to the first; both to the aggregated choice. Precondition: the call's writers are set.
void tell_token_ids(GenerationCall& call);

/// Moves `prompt_token_ids` from a choice to the root of the response, as in vLLM's chat completions.
void lift_prompt_token_ids(Json& answer);

} // namespace etna::server::openai
