#pragma once

#include "core/base/token.hpp"
#include "core/generate/pending_logprobs.hpp"
#include "server/base/json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace etna::server::api {

/// How tokens are named in logprobs.
enum class TokenNames : uint8_t {
    text,
    ids, ///< "token_id:5", as in vLLM
};

/// Returns "token_id:5".
std::string token_id_name(TokenId token);

/// Returns a list of {"token", "logprob", "bytes", "top_logprobs"}. Source: OpenAI API 2.3.0,
/// ChatCompletionTokenLogprob.
Json logprobs_list(const std::vector<generate::EmittedToken>& tokens, TokenNames names = TokenNames::text);

} // namespace etna::server::api
