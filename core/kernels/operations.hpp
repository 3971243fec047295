#pragma once

#include "core/kernels/operation.hpp"

#include <span>

namespace etna::kernels {

/// Every operation of the forward pass, in the order in which kernels are listed. Static.
std::span<const Operation* const> operations();

} // namespace etna::kernels
