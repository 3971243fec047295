#pragma once

#include "core/generate/request.hpp"
#include "core/sampling/parameters.hpp"
#include "server/base/json.hpp"
#include "server/faces/llamacpp/request.hpp"

#include <cstdint>

namespace etna::server::llamacpp {

/// The seed that `generation_settings` shows for a request without one.
inline constexpr uint32_t random_seed_number = 0xFFFFFFFF;

/// Returns `generation_settings`: the options in effect. `parameters`: the sampling parameters with all
/// defaults applied. `request`: with the model's defaults applied.
Json settings_json(const sampling::Parameters& parameters, const generate::Request& request,
                   const CompletionRequest& parsed);

/// Returns the members of settings_json() that are numbers and flags, and so reveal no client's text.
Json public_settings(Json settings);

} // namespace etna::server::llamacpp
