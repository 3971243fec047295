#pragma once

#include "cli/environment.hpp"
#include "cli/generation_options.hpp"
#include "server/models.hpp"

#include <vector>

// The models of `etna serve`, with what its command line says of all of them.
namespace etna::cli {

/// Blocking. Errors: those of generate::Model::load(), and of the template and draft model that were chosen.
Result<server::Models::Handle> load_served(const store::ModelSource& source, const ModelOptions& options,
                                           const Environment& environment);

/// What a model would be like, from its file alone. Errors: those of generate::inspect().
Result<server::ModelFacts> inspect_served(const store::ModelSource& source, const ModelOptions& options);

/// Whether the models that were named on the command line, and the one that drafts, can be used: those of a
/// folder come and go, and are told of when they are looked at. Errors: those of inspect_served().
Status check_named(const std::vector<server::NamedSource>& named, const ModelOptions& options,
                   const Environment& environment);

/// Whether the template that was chosen is one. Where a model takes it, it is: it may be a variant that the
/// model's file has. Errors: not_found, and what is wrong with its text.
Status check_template(const ModelOptions& options, bool is_taken);

} // namespace etna::cli
