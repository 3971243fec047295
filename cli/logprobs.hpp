#pragma once

#include "cli/terminal/diagnostics.hpp"
#include "core/generate/generation.hpp"

#include <span>

#include <nlohmann/json_fwd.hpp>

namespace etna::cli {

/// The object `logprobs` of OpenAI's chat completions: {"content": [{"token", "logprob", "bytes",
/// "top_logprobs": [{"token", "logprob", "bytes"}, ...]}, ...], "refusal": null}. A piece that is not UTF-8
/// is repaired with U+FFFD in "token" and unchanged in "bytes".
nlohmann::ordered_json logprobs_json(std::span<const generate::TokenDelta> tokens);

/// `prompt_logprobs` as in vLLM: for each token null if it has no predecessor, otherwise {"ID": {"logprob",
/// "rank", "decoded_token"}, ...} of the top tokens and the token itself. The writer of the JSON text must
/// repair pieces that are not UTF-8.
nlohmann::ordered_json prompt_logprobs_json(std::span<const generate::PromptTokenDelta> tokens);

/// Reports one line per token: its log-probability and rank, then the top tokens.
void report_prompt_logprobs(Diagnostics& diagnostics, std::span<const generate::PromptTokenDelta> tokens);

/// Reports one line per token: the chosen one and its log-probability, then the top tokens.
void report_logprobs(Diagnostics& diagnostics, std::span<const generate::TokenDelta> tokens);

} // namespace etna::cli
