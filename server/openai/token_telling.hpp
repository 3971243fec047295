#pragma once

#include "server/openai/generation_call.hpp"

namespace etna::server::openai {

/// What a client wants of tokens beside text and log-probabilities. Source: vLLM's extra parameters.
struct TokenWishes {
    bool ids = false;          ///< `return_token_ids`
    bool ids_as_names = false; ///< `return_tokens_as_token_ids`: where a token is named, its id is the name
};

TokenWishes read_token_wishes(Fields& fields);

/// Whether the answer's tokens have to come one by one, beside its text.
bool needs_tokens(const TokenWishes& wishes, const Delivery& delivery);

/// Adds `token_ids` to each piece of a choice, those that have come since the one before, and
/// `prompt_token_ids` to the first; both to the whole choice. Precondition: the call's writers are set.
void tell_token_ids(GenerationCall& call);

/// Moves `prompt_token_ids` from a choice to the root of the answer, where vLLM's chats have it.
void lift_prompt_token_ids(Json& answer);

} // namespace etna::server::openai
