#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/policy.hpp"

#include <cstdint>
#include <vector>

// What the lists of Operation::uses share.
namespace etna::kernels {

constexpr uint32_t usual_width = 4096; ///< of a weight; kernel selection does not depend on it

/// The variant that a shader's plan selects of its two reductions.
template <class Shader>
shaders::Variant reduced(const PlanTarget& target, Shader shader) {
    return shader(reduce_plan(target, shader(shaders::Reduce::subgroup)).reduce);
}

/// The use of a kernel that reads no matrices.
std::vector<KernelUse> one_use(const Operation& operation, shaders::Variant variant);

/// Layouts of matrices and tables, format by format. Formats in tiles also have a layout for row kernels:
/// of odd widths and of exact products.
std::vector<Layout> matrix_layouts(const PlanTarget& target);

/// The same without those in another arrangement.
std::vector<Layout> tiled_matrices(const PlanTarget& target);

/// Layouts of stacks in tiles.
std::vector<Layout> tiled_stacks(const PlanTarget& target);

/// The layout of a stack that is not in tiles, and the kernel that multiplies it.
Layout exact_layout(const PlanTarget& target, Format format);
shaders::Variant exact_stack_variant(const PlanTarget& target, Layout layout);

/// Every format, in order.
std::vector<Format> all_formats();

} // namespace etna::kernels
