#pragma once

#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "server/models/models.hpp"

#include <vector>

// Loads and inspects the models of `etna serve` with the options of its command line.
namespace etna::cli {

/// Loads a model. Blocking. Errors: those of generate::Model::load(), and of the chosen template and draft
/// model.
Result<server::Models::Handle> load_served(const store::ModelSource& source, const ModelOptions& options,
                                           const Environment& environment);

/// Reads a model's facts from its file alone. Errors: those of generate::inspect().
Result<server::ModelFacts> inspect_served(const store::ModelSource& source, const ModelOptions& options);

/// Checks that the models named on the command line and the draft model can be used. Models of a folder may
/// change and are checked on use. Errors: those of inspect_served().
Status check_named(const std::vector<server::NamedSource>& named, const ModelOptions& options,
                   const Environment& environment);

/// Checks the chosen template. It is valid if a model accepts it (`is_taken`), because it may be a variant in
/// that model's file. Errors: not_found, and those of its text.
Status check_template(const ModelOptions& options, bool is_taken);

} // namespace etna::cli
