#pragma once

#include <cstdint>

namespace etna {

/// Index into a model's vocabulary.
using TokenId = uint32_t;

} // namespace etna
