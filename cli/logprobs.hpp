#pragma once

#include "cli/diagnostics.hpp"
#include "core/generate/generate.hpp"

#include <span>

#include <nlohmann/json_fwd.hpp>

namespace etna::cli {

/// The object `logprobs` of OpenAI's chat completions: {"content": [{"token", "logprob", "bytes",
/// "top_logprobs": [{"token", "logprob", "bytes"}, ...]}, ...], "refusal": null}. A piece that is not UTF-8
/// is repaired with U+FFFD in "token", and stands unchanged in "bytes".
nlohmann::ordered_json logprobs_json(std::span<const generate::TokenDelta> tokens);

/// `prompt_logprobs` as in vLLM: for each token null, where nothing stands before it, or {"ID": {"logprob",
/// "rank", "decoded_token"}, ...} of the likeliest and the token itself. Pieces that are not UTF-8 are left
/// to who writes the text.
nlohmann::ordered_json prompt_logprobs_json(std::span<const generate::PromptTokenDelta> tokens);

/// One line for each token: its log-probability and its rank, then the likeliest ones.
void report_prompt_logprobs(Diagnostics& diagnostics, std::span<const generate::PromptTokenDelta> tokens);

/// One line for each token: the chosen one and its log-probability, then the likeliest ones.
void report_logprobs(Diagnostics& diagnostics, std::span<const generate::TokenDelta> tokens);

} // namespace etna::cli
