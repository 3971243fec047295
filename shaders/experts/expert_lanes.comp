// y[p][m] = sum_k W_e[m][k] x[p / pairs_each][k] for the pairs p of an expert e that a tile holds, on lavapipe: a lane owns
// entire weight rows, as in linear_lanes.comp.
// W: [experts][rows padded to 8][columns] in FORMAT, arrangement lanes; x: f32 [rows, x_stride x 4]; y: f32 [pairs, y_stride].
// Grid: x, z = ceil(rows / (8 GROUPS)) folded, y = tiles. 8 invocations = one subgroup of at least 8.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 1 // lanes
#include "shaders/include/formats.glsl"
#define InputElements Floats
#include "shaders/experts/arguments.h"
#include "shaders/experts/groups.glsl"

layout(local_size_x = 8) in;
layout(constant_id = 0) const uint GROUPS = 4;  // 1..4
layout(constant_id = 1) const uint COLUMNS = 1; // 1..8
layout(push_constant, std430) uniform Push { ExpertLinearArguments a; };
#include "shaders/experts/tile.glsl"

void main() {
    uint lane = gl_SubgroupInvocationID;
    uint first_row = folded_group() * GROUPS * 8;
    if (first_row >= a.rows || !find_tile())
        return;
    uint blocks = a.columns / 32;
    uint word_at[GROUPS]; // this lane's row
    uint scale_at[GROUPS];
    for (uint g = 0; g < GROUPS; ++g) {
        uint row = stack_row(first_row + g * 8 + lane);
        word_at[g] = row_start(row, weight_words(blocks));
        scale_at[g] = row_start(row, scale_words(blocks));
    }
    uint x_at[COLUMNS];
    for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = pair_of(c) / a.pairs_each * a.x_stride * 4 + lane;

    float sums[GROUPS * COLUMNS];
    for (uint i = 0; i < GROUPS * COLUMNS; ++i)
        sums[i] = 0;
    for (uint eight = 0; eight < blocks * 4; ++eight) {
        vec4 w[GROUPS][2];
        for (uint g = 0; g < GROUPS; ++g) {
            load_eight(a.weights, word_at[g], row_stride, blocks, eight / 4, eight % 4, w[g]);
            vec2 scale = load_scale(a.scales, scale_at[g], row_stride, eight * 8 / SUB_ELEMENTS);
            for (uint i = 0; i < 2; ++i)
                w[g][i] = fma(vec4(scale.x), w[g][i], vec4(scale.y));
        }
        for (uint c = 0; c < COLUMNS; ++c) {
            float x8 = a.x.v[x_at[c] + eight * 8]; // one element a lane
            for (uint k = 0; k < 8; ++k) {
                float xk = subgroupBroadcast(x8, k);
                for (uint g = 0; g < GROUPS; ++g)
                    sums[g * COLUMNS + c] = fma(w[g][k / 4][k % 4], xk, sums[g * COLUMNS + c]);
            }
        }
    }

    for (uint g = 0; g < GROUPS; ++g) {
        uint row = first_row + g * 8 + lane;
        for (uint c = 0; c < COLUMNS; ++c)
            if (row < a.rows && c < tile_count)
                a.y.v[pair_of(c) * a.y_stride + row] = sums[g * COLUMNS + c];
    }
}
