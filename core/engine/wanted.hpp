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

/// The output that the last row of a sequence requests.
struct Wish {
    OutputKind output_kind = OutputKind::none;
    uint32_t candidates = 0; ///< Row::candidates
};

/// The smallest output that the token after position `index` of a sequence can be chosen from. Plain
/// parameters are drawn on the device; filters after top-k need the first candidates; anything that may reach
/// further needs all logits. Pure.
Wish wish_of(const Sequence& sequence, uint32_t index, const Limits& limits);

/// Reads the output of the row at position `index` of the sequence as a token: drawn on the device, or here.
/// Errors: invalid_argument (the request's own parameters leave no token), internal (the logits or the token
/// are invalid).
Result<TokenEvent> read_token(const RowOutput& output, const Sequence& sequence, uint32_t index,
                              const Limits& limits, sampling::Sampler& sampler);

/// The continuations of a hypothesis after the row at position `index`, best first; for beam searches.
/// Errors: as read_token(), but none if no token is possible.
Result<Continuations> read_continuations(const RowOutput& output, const Sequence& sequence, uint32_t index,
                                         const Limits& limits, sampling::Sampler& sampler);

/// The log-probability of the prompt's next token in the row at position `index`. Precondition: the row
/// returned all logits.
TokenEvent read_score(const RowOutput& output, const Sequence& sequence, uint32_t index);

} // namespace etna::engine
