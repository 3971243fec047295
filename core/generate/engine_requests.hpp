#pragma once

#include "core/base/cancel.hpp"
#include "core/engine/request.hpp"
#include "core/generate/model.hpp"
#include "core/generate/prompt.hpp"
#include "core/generate/request.hpp"
#include "core/grammar/description.hpp"

#include <cstdint>
#include <vector>

// Internal to core/generate: converts a request to engine requests.
namespace etna::generate {

/// Validates the parts of a request that do not depend on its prompt. Errors: invalid_argument.
Status check(const Request& request);

/// Refuses biases that ban every token, at the start of the answer or later, because no answer would be
/// possible.
Status check_bans(const Model& model, const Request& request);

/// The engine requests of one client request.
struct EngineRequests {
    std::vector<engine::Request> all; ///< one per choice, or a single one for a beam search
    std::vector<grammar::DroppedKeyword> dropped_keywords;
};

/// Converts a request with its encoded prompt. `is_cancelled` is polled; see text::EncodeOptions.
/// Errors: those of make_grammar() and encode_dry_breakers(), and cancelled.
Result<EngineRequests> engine_requests(const Model& model, const Request& request, const Prompt& prompt,
                                       int64_t seed, const CancelPoll& is_cancelled = {});

} // namespace etna::generate
