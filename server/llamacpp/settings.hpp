#pragma once

#include "core/generate/request.hpp"
#include "core/sampling/parameters.hpp"
#include "server/json.hpp"
#include "server/llamacpp/request.hpp"

#include <cstdint>

namespace etna::server::llamacpp {

/// The seed in `generation_settings` of a request that has none.
inline constexpr uint32_t random_seed_number = 0xFFFFFFFF;

/// Returns `generation_settings`: the options in effect. `parameters`: of sampling, with all defaults.
/// `request`: with the model's defaults.
Json settings_json(const sampling::Parameters& parameters, const generate::Request& request,
                   const CompletionRequest& parsed);

/// Returns the members of settings_json() that name numbers and flags alone, which no client's text is in.
Json public_settings(Json settings);

} // namespace etna::server::llamacpp
