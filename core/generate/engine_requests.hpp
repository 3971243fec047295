#pragma once

#include "core/engine/request.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/prompt.hpp"

#include <cstdint>
#include <vector>

// Private to the room: what a request is to the engine.
namespace etna::generate {

/// What can be found wrong with a request before its prompt is made. Errors: invalid_argument.
Status check(const Request& request);

/// Refuses biases that ban every token, at the answer's beginning or further on: no answer could come of it.
Status check_bans(const Model& model, const Request& request);

/// The engine's requests for all choices of one request: one each, or one for all of a beam search. Errors:
/// those of make_grammar() and encode_dry_breakers(), and cancelled.
/// `stop_requested`: borrowed; see text::EncodeOptions.
Result<std::vector<engine::Request>> engine_requests(const Model& model, const Request& request,
                                                     const Prompt& prompt, int64_t seed,
                                                     const StopRequested* stop_requested = nullptr);

} // namespace etna::generate
