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

/// What the last row of a sequence asks for.
struct Wish {
    Want want = Want::none;
    uint32_t candidates = 0; ///< Row::candidates
};

/// The least that the token after place `index` of a sequence can be chosen from. Plain parameters are drawn
/// on the device; filters behind top-k need the first candidates; whatever may reach further needs all
/// logits. Pure.
Wish wish_of(const Sequence& sequence, uint32_t index, const Limits& limits);

/// What the row at place `index` of the sequence answered to its wish, as a token: drawn on the device, or
/// here. Errors: invalid_argument (the request's own parameters leave no token), internal (the logits or the
/// token make no sense).
Result<TokenEvent> read_token(const RowOutput& output, const Sequence& sequence, uint32_t index,
                              const Limits& limits, sampling::Sampler& sampler);

/// What a hypothesis may go on with after the row at place `index`, the best first; of a beam. Errors: as
/// read_token(), but none where no token is possible.
Result<Continuations> read_continuations(const RowOutput& output, const Sequence& sequence, uint32_t index,
                                         const Limits& limits, sampling::Sampler& sampler);

/// How likely the row at place `index` found the token of the prompt that comes next. Precondition: the row
/// wanted all logits.
TokenEvent read_score(const RowOutput& output, const Sequence& sequence, uint32_t index);

} // namespace etna::engine
