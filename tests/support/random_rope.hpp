#pragma once

#include "tests/support/random_model.hpp"
#include "tests/support/tensor_maker.hpp"

namespace etna::test {

/// The frequency divisors that a model's files have as tensors, by RopeScaling and architecture.
void add_rope_tensors(TensorMaker& tensors, const RandomModelOptions& options);

} // namespace etna::test
