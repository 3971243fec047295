#pragma once

#include "cli/options/generation_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/generate/generation.hpp"
#include "core/generate/model.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace etna::cli {

/// Speed of the generation phase, without the first token, which the prompt phase produces. 0 if there is
/// nothing to measure.
double tokens_per_second(const generate::Finished& finished);

/// The content of an answer's --json object.
struct Reported {
    const generate::Finished& finished;
    const std::string& text;
    const std::vector<generate::PromptTokenDelta>* prompt = nullptr; ///< null: no prompt logprobs requested
    const std::vector<generate::TokenDelta>* tokens = nullptr;       ///< null: no logprobs requested
    std::optional<uint32_t> index = {};                              ///< index among several answers
};

/// Formats --json: one object on one line, with the newline. Text that is not UTF-8 is repaired with U+FFFD.
std::string json_report(const generate::Model& model, const Reported& answer);

/// The cause if the user ended an answer, by Ctrl-C or a signal.
inline constexpr std::string_view stopped_early = "stopped";

/// Returns why the answer is incomplete, as a user-facing clause; empty if the model ended it or no answer
/// was requested.
std::string why_incomplete(const generate::Finished& finished, std::optional<uint32_t> max_tokens);

/// Returns the error for an answer that a limit cut off before it matched its grammar; empty for others.
/// `text`: its content.
std::optional<Error> cut_off_answer(const generate::Finished& finished, std::string_view text,
                                    const GenerationOptions& options);

/// Formats calls without a command as the answer: one JSON object per line.
std::string call_lines(const std::vector<output::Call>& calls);

/// Reports model, device and speed for --verbose.
void verbose_report(Diagnostics& diagnostics, const generate::Model& model,
                    const generate::Finished& finished);

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
