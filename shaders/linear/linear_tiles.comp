// y[c][m] (=|+=) sum_k W[m][k] x[c][k] for few columns c: the decode path of GPUs, for weights in tiles.
// W: [rows, columns] in FORMAT, arrangement tiles (include/tiles.glsl); x: blocks of halves (include/halves.glsl);
// y: f32 [count, y_stride]. Factors are f16 (bf16: f32), products and sums f32.
// Grid: x, z = ceil(rows / (8 GROUPS)) folded, y = ceil(count / COLUMNS). Eight lanes side by side have the rows of a group; a slice of
// eight lanes takes 256 / PARTS columns at a time. Sums of a row are in one lane until the slices' are added in order, so that a
// sum does not depend on COLUMNS or the device's subgroups.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 2 // tiles
#include "shaders/include/formats.glsl"
#include "shaders/include/halves.glsl"
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint WORKGROUP = 64; // 8 PARTS or a multiple
layout(constant_id = 1) const uint GROUPS = 1;     // 1..4
layout(constant_id = 2) const uint COLUMNS = 1;    // 1..8
layout(constant_id = 3) const uint PARTS = 1;      // slices that share a tile: 1, 2, 4
const uint SUMS = GROUPS * COLUMNS;
const uint SLICES = WORKGROUP / 8;
layout(push_constant, std430) uniform Push { LinearTilesArguments a; };
#include "shaders/linear/store.glsl"
#include "shaders/include/tile_codes.glsl"
#include "shaders/include/tile_products.glsl"

void store_sums(float sums[SUMS], uint first_group, uint first_column) {
    share_slices(sums);
    for (uint output_index = gl_LocalInvocationID.x; output_index < SUMS * 8; output_index += WORKGROUP) {
        uint i = output_index / 8;
        uint row = (first_group + i / COLUMNS) * 8 + output_index % 8;
        uint column = first_column + i % COLUMNS;
        float sum = sum_of_slices(i, output_index % 8);
        if (row < a.rows && column < a.count)
            store_sum(column, row, sum);
    }
}

void main() {
    uint first_group = folded_group() * GROUPS;
    uint first_column = gl_WorkGroupID.y * COLUMNS;
    uint groups = (a.rows + 7) / 8;
    if (first_group >= groups)
        return;
#ifdef LEVELS
    fill_levels();
#endif
    set_masks(gl_LocalInvocationID.x + a.tiles);

    uint64_t w_at[GROUPS]; // uniform
    [[unroll]] for (uint g = 0; g < GROUPS; ++g)
        w_at[g] = uint64_t(a.weights) + uint64_t(min(first_group + g, groups - 1)) * (a.tiles * tile_words * 4);
    uint64_t x_at[COLUMNS]; // uniform
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = uint64_t(a.x) + uint64_t(min(first_column + c, a.count - 1)) * (a.tiles * block_bytes);
    float sums[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        sums[i] = 0;
    add_tiles(w_at, x_at, a.tiles, sums);
    store_sums(sums, first_group, first_column);
}
