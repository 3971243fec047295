#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/beam_search.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/request.hpp"
#include "core/engine/sequence.hpp"
#include "core/sampling/sampler.hpp"

#include <cstdint>

namespace etna::engine {

/// The output that a row requests.
struct OutputSpec {
    OutputKind output_kind = OutputKind::none;
    uint32_t candidates = 0; ///< Row::candidates
};

/// Returns the smallest output that the token after `position` can be sampled from. Plain parameters are
/// sampled on the device; filters after top-k need the first candidates; anything beyond those needs all
/// logits. Pure.
OutputSpec output_spec_for(const Sequence& sequence, uint32_t position, const Limits& limits);

/// Reads the output of the row at `position` as a token: sampled on the device, or on the host. Errors:
/// invalid_argument (the request's own parameters leave no token), internal (the logits or the token are
/// invalid).
Result<TokenEvent> read_token(const RowOutput& output, const Sequence& sequence, uint32_t position,
                              const Limits& limits, sampling::Sampler& sampler);

/// Returns the continuations of a hypothesis after the row at `position`, best first; for beam searches.
/// Errors: as read_token(), but none if no token is possible.
Result<Continuations> read_continuations(const RowOutput& output, const Sequence& sequence, uint32_t position,
                                         const Limits& limits, sampling::Sampler& sampler);

/// Returns the log-probability of the prompt's next token in the row at `position`. Precondition: the row
/// returned all logits.
TokenEvent read_prompt_logprob(const RowOutput& output, const Sequence& sequence, uint32_t position);

} // namespace etna::engine
