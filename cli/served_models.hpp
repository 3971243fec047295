#pragma once

#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "core/base/result.hpp"
#include "server/models/models.hpp"

#include <cstdint>

// Models that several requests share: the loader and the inspector of server::Models.
namespace etna::cli {

/// Returns whether the source is that of a model of the hub which is not fetched: it has no bytes.
bool is_remote(const store::ModelSource& source);

/// Loads a model, with the options that are stored with it. Blocking. Errors: those of
/// generate::Model::load(), and of the chosen template and draft model.
Result<server::Models::Handle> load_served(const store::ModelSource& source, const ModelOptions& served,
                                           const Environment& environment);

/// The same options, for a model that fits on the device with its experts, unless the user has placed them,
/// and a context that most prompts fit into.
ModelOptions unconfined(ModelOptions options);

/// Reads a model's facts from its file alone; none of a model that is not fetched. Errors: those of
/// generate::inspect().
Result<server::ModelFacts> inspect_served(const store::ModelSource& source, const ModelOptions& served);

} // namespace etna::cli
