#pragma once

#include "cli/diagnostics.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// Speed of the generation phase: the first token comes with the prompt phase. 0 where there is nothing to
/// measure.
double tokens_per_second(const generate::Finished& finished);

/// What --json tells of an answer.
struct Reported {
    const generate::Finished& finished;
    const std::string& text;
    const std::vector<generate::PromptTokenDelta>* prompt = nullptr; ///< null: nobody asked how likely it is
    const std::vector<generate::TokenDelta>* tokens = nullptr;       ///< likewise of the answer
    std::optional<uint32_t> index = {};                              ///< among several answers
};

/// --json: one object on one line, with the newline. Text that is not UTF-8 is repaired with U+FFFD.
std::string json_report(const generate::Model& model, const Reported& answer);

/// Why an answer is incomplete that the user ended, by Ctrl-C or a signal.
inline constexpr std::string_view stopped_early = "stopped";

/// Why the answer is incomplete, as a clause for people; empty if the model ended it, or no answer was
/// wanted.
std::string why_incomplete(const generate::Finished& finished, std::optional<uint32_t> max_tokens);

/// Calls that nobody here can run are the answer: one JSON object to a line.
std::string call_lines(const std::vector<chat::output::Call>& calls);

/// --verbose: what ran where, and how fast.
void verbose_report(Diagnostics& diagnostics, const generate::Model& model,
                    const generate::Finished& finished);

} // namespace etna::cli
