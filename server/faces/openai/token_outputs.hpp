#pragma once

#include "server/api/logprobs.hpp"
#include "server/faces/openai/generation_request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

using api::token_id_name;
using api::TokenNames;

/// Moves a member from the choices to the root of a complete response or a chunk; if several choices have it,
/// the last one's is used.
void lift(Json& answer, const char* member);

/// Token output options other than text and logprobs. Source: vLLM's extra parameters.
struct TokenIdOptions {
    bool ids = false;          ///< `return_token_ids`
    bool ids_as_names = false; ///< `return_tokens_as_token_ids`: tokens are named by id
};

TokenIdOptions read_token_id_options(Fields& fields);

/// Returns whether tokens must be delivered one by one, in addition to the text.
bool needs_tokens(const TokenIdOptions& ids, const OutputOptions& output);

/// Adds `token_ids` to each piece of a choice, with the tokens since the previous piece, and
/// `prompt_token_ids` to the first; both to the whole choice. Precondition: the request's make_stream and
/// write_choice are set.
void add_token_ids(GenerationRequest& request);

/// Moves `prompt_token_ids` from a choice to the root of the response, as in vLLM's chat completions.
void lift_prompt_token_ids(Json& answer);

/// Reads `prompt_logprobs`: the number of top logprobs per prompt position, in addition to the prompt token's
/// own. Source: vLLM's sampling parameters.
std::optional<uint32_t> read_prompt_logprobs(Fields& fields);

/// Adds the member `prompt_logprobs` to the first piece of each choice after the prompt, and to the whole
/// choice: a list with null for the first token, and {"ID": {"logprob", "rank", "decoded_token"}}
/// for each of the others, with the `top` most likely tokens. Precondition: the request's make_stream and
/// write_choice are set, and it keeps the prompt.
/// Source: vLLM's completions.
void add_prompt_logprobs(GenerationRequest& request, uint32_t top);

/// Moves the member from a choice to the root of the response, as in vLLM's chat completions.
void lift_prompt_logprobs(Json& answer);

} // namespace etna::server::openai
