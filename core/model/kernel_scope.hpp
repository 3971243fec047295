#pragma once

#include "core/gguf/file.hpp"
#include "core/kernels/operation.hpp"

namespace etna::model {

/// A superset of the kernels that a model of this file may run, derived from the shapes and types of its
/// tensors. Pure.
kernels::KernelScope kernel_scope(const gguf::File& file);

} // namespace etna::model
