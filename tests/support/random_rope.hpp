#pragma once

#include "tests/support/random_model.hpp"
#include "tests/support/tensor_maker.hpp"

namespace etna::test {

/// Adds the tensors with frequency divisors that a model has: rope_freqs, rope_factors_short and _long.
void add_rope_tensors(TensorMaker& tensors, const RandomModelOptions& options);

} // namespace etna::test
