#pragma once

#include "cli/diagnostics.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/model.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// Speed of the generation phase: the first token comes with the prompt phase. 0 where there is nothing to
/// measure.
double tokens_per_second(const generate::Finished& finished);

/// --json: one object on one line, with the newline. Text that is not UTF-8 is repaired with U+FFFD. `tokens`
/// is null where no log-probabilities were asked for.
std::string json_report(const generate::Model& model, const generate::Finished& finished,
                        const std::string& text, const std::vector<generate::TokenDelta>* tokens);

/// --verbose: what ran where, and how fast.
void verbose_report(Diagnostics& diagnostics, const generate::Model& model,
                    const generate::Finished& finished);

} // namespace etna::cli
