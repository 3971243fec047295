#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/request.hpp"
#include "core/engine/stream.hpp"

#include <cstdint>
#include <vector>

namespace etna::cli {

/// Appends `count` pseudo-random tokens below `vocabulary`; the same for the same seed.
void add_random_tokens(std::vector<TokenId>& tokens, uint64_t seed, uint32_t count, uint32_t vocabulary);

/// Waits for the end of a request, and drops its tokens. Blocks. Errors: that of the request.
Result<engine::Finished> wait_for_end(engine::Stream& stream);

/// Errors: out_of_memory, if fewer than `batch` sequences run together.
Status check_batch(uint32_t batch, const engine::Limits& limits);

} // namespace etna::cli
