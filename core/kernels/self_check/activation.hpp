#pragma once

#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/self_check/kernel_run.hpp"

namespace etna::kernels {

/// x / (1 + exp(-z)) u, where x, z and u follow from gate and up by kind; sigmoid has x = 1. exp is good
/// for 3 + 2 |z| units (Vulkan, "Precision of GLSL instructions"), and so is z itself if it is a polynomial.
Bounded activated(Gate kind, double gate, double up);

double sigmoid(double x);

/// The error of x sigmoid(x), relative; exp is accurate to 3 + 2 |x| units (Vulkan, "Precision of GLSL
/// instructions").
double silu_tolerance(double x);

} // namespace etna::kernels
