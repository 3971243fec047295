#pragma once

#include "core/kernels/operations/attention.hpp"
#include "core/model/step.hpp"

#include <cstdint>
#include <functional>

namespace etna::model {

/// The operation of a layer for rows of one path, without partials and counters.
using AttentionOf =
    std::function<kernels::Attention(const RowRange& range, const kernels::AttendMax& attend_max)>;

/// Records the attention of all row ranges over the cache of a group. The prefill rows come first: on GPUs
/// they run beside the first pass of decode rows.
void record_scores(const Recording& recording, uint32_t group, const AttentionOf& attention_of);

} // namespace etna::model
