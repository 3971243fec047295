#pragma once

#include "core/kernels/launcher.hpp"
#include "core/kernels/operations/experts.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// A dispatch of the kernel that expert_linear and heads_product share, for stacks that are not in tiles: a
/// pair is a matrix and an input row.
struct StackProduct {
    MatrixStack weights;
    vk::Range input;
    vk::Range output;
    std::optional<vk::Range> groups =
        std::nullopt; ///< of pairs by expert; without, pair i has matrix i % count
    uint32_t pairs = 0;
    uint32_t pairs_each = 1; ///< pairs that share an input row
    uint32_t tile_pairs = 1; ///< of one workgroup
    uint32_t tiles = 0;      ///< of pairs
    uint32_t input_stride = 0;
    uint32_t output_stride = 0;
};
void launch_stack_product(const Launcher& launcher, const StackProduct& product);

} // namespace etna::kernels
