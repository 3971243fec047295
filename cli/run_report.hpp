#pragma once

#include "cli/diagnostics.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/model.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// --json: one object on one line, with the newline. Text that is not UTF-8 is repaired with U+FFFD. `tokens`
/// is null where no log-probabilities were asked for.
std::string json_report(const generate::Model& model, const generate::Finished& finished,
                        const std::string& text, const std::vector<generate::TokenDelta>* tokens);

/// --verbose: what ran where, and how fast.
void verbose_report(Diagnostics& diagnostics, const generate::Model& model,
                    const generate::Finished& finished);

} // namespace etna::cli
