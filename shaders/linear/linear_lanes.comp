// y[c][m] (=|+=) sum_k W[m][k] x[c][k] for lavapipe: a lane owns entire weight rows, so it needs no reduction, no
// shared memory and no barrier, each of which costs more there than the arithmetic; both paths use it.
// W: [rows, columns] in FORMAT, arrangement lanes: [8-row group][word of the row][8], same for scales.
// x: f32 [count, x_stride x 4]; y: f32 [count, y_stride].
// Grid: x, z = ceil(rows / (8 GROUPS)) folded, y = ceil(count / COLUMNS). 8 invocations = one subgroup of at least 8.
// x is loaded eight elements at a time, one a lane, and broadcast. Measured on lavapipe: GROUPS 4 is best for one column.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 1 // lanes
#include "shaders/include/formats.glsl"
#define InputElements Floats
#include "shaders/linear/arguments.h"

layout(local_size_x = 8) in;
layout(constant_id = 0) const uint GROUPS = 4;  // 1..4
layout(constant_id = 1) const uint COLUMNS = 1; // 1..8
layout(push_constant, std430) uniform Push { LinearArguments a; };
#include "shaders/linear/store.glsl"

void main() {
    uint lane = gl_SubgroupInvocationID;
    uint groups = (a.rows + 7) / 8;
    uint first_group = folded_group() * GROUPS;
    if (first_group >= groups)
        return;
    uint first_column = gl_WorkGroupID.y * COLUMNS;
    uint blocks = a.columns / 32;

    uint word_at[GROUPS]; // this lane's row
    uint scale_at[GROUPS];
    for (uint g = 0; g < GROUPS; ++g) {
        uint row = min(first_group + g, groups - 1) * 8 + lane;
        word_at[g] = row_start(row, weight_words(blocks));
        scale_at[g] = row_start(row, scale_words(blocks));
    }
    uint x_at[COLUMNS];
    for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = min(first_column + c, a.count - 1) * a.x_stride * 4 + lane;

    float sums[GROUPS * COLUMNS];
    for (uint i = 0; i < GROUPS * COLUMNS; ++i)
        sums[i] = 0;

    const uint eights = SUB_ELEMENTS / 8;
    for (uint sub = 0; sub < a.columns / SUB_ELEMENTS; ++sub) {
        vec2 scale[GROUPS];
        for (uint g = 0; g < GROUPS; ++g)
            scale[g] = load_scale(a.scales, scale_at[g], row_stride, sub);
        float part[GROUPS * COLUMNS];
        for (uint i = 0; i < GROUPS * COLUMNS; ++i)
            part[i] = 0;
        for (uint e = 0; e < eights; ++e) {
            uint eight = sub * eights + e; // of the row
            float x8[COLUMNS];
            for (uint c = 0; c < COLUMNS; ++c)
                x8[c] = a.x.v[x_at[c] + eight * 8];
            vec4 w[GROUPS][2];
            for (uint g = 0; g < GROUPS; ++g) {
                load_eight(a.weights, word_at[g], row_stride, blocks, eight / 4, eight % 4, w[g]);
#ifdef HAS_OFFSET
                for (uint i = 0; i < 2; ++i)
                    w[g][i] = fma(vec4(scale[g].x), w[g][i], vec4(scale[g].y));
#endif
            }
            for (uint k = 0; k < 8; ++k)
                for (uint c = 0; c < COLUMNS; ++c) {
                    float xk = subgroupBroadcast(x8[c], k);
                    for (uint g = 0; g < GROUPS; ++g)
                        part[g * COLUMNS + c] = fma(w[g][k / 4][k % 4], xk, part[g * COLUMNS + c]);
                }
        }
        for (uint g = 0; g < GROUPS; ++g)
            for (uint c = 0; c < COLUMNS; ++c) {
#ifdef HAS_OFFSET
                sums[g * COLUMNS + c] += part[g * COLUMNS + c];
#else
                sums[g * COLUMNS + c] = fma(scale[g].x, part[g * COLUMNS + c], sums[g * COLUMNS + c]);
#endif
            }
    }

    for (uint g = 0; g < GROUPS; ++g) {
        uint row = (first_group + g) * 8 + lane;
        for (uint c = 0; c < COLUMNS; ++c)
            if (row < a.rows && first_column + c < a.count)
                store_sum(first_column + c, row, sums[g * COLUMNS + c]);
    }
}
