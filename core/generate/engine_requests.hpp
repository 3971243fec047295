#pragma once

#include "core/engine/request.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/prompt.hpp"
#include "core/grammar/description.hpp"

#include <cstdint>
#include <vector>

// Private to the room: what a request is to the engine.
namespace etna::generate {

/// What can be found wrong with a request before its prompt is made. Errors: invalid_argument.
Status check(const Request& request);

/// Refuses biases that ban every token, at the answer's beginning or further on: no answer could come of it.
Status check_bans(const Model& model, const Request& request);

/// One request of a client as the engine gets it.
struct EngineRequests {
    std::vector<engine::Request> all; ///< one for each choice, or one for all of a beam search
    std::vector<grammar::DroppedKeyword> dropped_keywords;
};

/// Errors: those of make_grammar() and encode_dry_breakers(), and cancelled.
/// `stop_requested`: borrowed; see text::EncodeOptions.
Result<EngineRequests> engine_requests(const Model& model, const Request& request, const Prompt& prompt,
                                       int64_t seed, const StopRequested* stop_requested = nullptr);

} // namespace etna::generate
