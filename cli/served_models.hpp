#pragma once

#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "core/base/result.hpp"
#include "core/generate/description.hpp"
#include "core/runtime/devices.hpp"
#include "server/models/models.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

// The loader and the inspector of server::Models.
namespace etna::cli {

/// Returns whether the source is a model of the hub that is not downloaded, and so has no bytes.
bool is_remote(const store::ModelSource& source);

/// Loads a model with the options stored for it. `report` receives lines on the progress of a load that
/// checks new kernels or takes long, `show_fraction` the part of the weights that is read, 0 to 1; both may
/// be empty. Blocking. Errors: those of generate::Model::load(), and of the chosen template and draft model.
Result<server::Models::Handle> load_served(const store::ModelSource& source, const ModelOptions& served,
                                           const Environment& environment,
                                           const std::function<void(std::string_view line)>& report = {},
                                           const std::function<void(double fraction)>& show_fraction = {});

/// Returns the options for a load that fails unless the model fits on the device with its experts (unless the
/// user has placed them) and a context that holds most prompts.
ModelOptions unconfined(ModelOptions options);

/// Reads a model's facts from its file; returns none for a model that is not downloaded. With `device`, which
/// may be null, also plans the model's memory on it. Errors: those of generate::inspect().
Result<server::ModelFacts> inspect_served(const store::ModelSource& source, const ModelOptions& served,
                                          const runtime::DeviceReport* device = nullptr);

} // namespace etna::cli
