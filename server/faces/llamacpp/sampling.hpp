#pragma once

#include "core/generate/request.hpp"
#include "core/sampling/parameters.hpp"
#include "server/api/request_context.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"

#include <string_view>
#include <vector>

// Sampling members of POST /completion. Source: llama.cpp's tools/server/README.md.
namespace etna::server::llamacpp {

/// The API's sampling defaults, which the model's recommendations override.
inline constexpr sampling::Parameters sampling_defaults = {
    .presence_window_tokens = 64, .frequency_window_tokens = 64, .dry_window_tokens = 64};

/// Samplers in the order in which etna applies them: llama.cpp's default order.
std::vector<std::string_view> all_samplers();

/// Reads all sampling members. Samplers that `samplers` omits get neutral values; an order other than the
/// default, and unsupported samplers, are refused. Returns the samplers in use. Errors are recorded in
/// `fields`. Precondition: `ignore_eos` has been read.
std::vector<std::string_view> read_sampling(Fields& fields, const api::RequestContext& context,
                                            generate::Request& request);

} // namespace etna::server::llamacpp
