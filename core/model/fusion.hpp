#pragma once

#include "core/kernels/library.hpp"
#include "core/model/forward.hpp"

namespace etna::model {

/// Marks the steps of a decoder's decode rows that share a dispatch on a target, if the kernel is trusted and
/// the layouts allow it:
/// - gate, up and activation of a feed-forward block (FeedForwardBlock::is_gate_fused);
/// - projections to heads, and their norms, rotation and store (AttentionBlock::is_heads_fused);
/// - the matrix that adds to the residual, with the next block's norm, which stays pending until that block's
///   matrices divide by it (OutputMatrix::next_norm, InputNorm::is_pending).
/// Projections share dispatches without a mark (record_projections()).
void fuse(Decoder& decoder, const kernels::PlanTarget& target);

} // namespace etna::model
