// y[c][m] (=|+=) sum_k W[m][k] x[c][k] for lavapipe: a lane owns whole weight rows, so there is no reduction, no shared
// memory and no barrier, each of which costs more than the arithmetic there; both paths use it.
// W: [rows, columns] in FORMAT, arrangement lanes: [8-row group][word of the row][8]; q8 scales f32 [group][block][8].
// x: f32 [count, x_stride x 4]; y: f32 [count, y_stride].
// Grid: x, z = ceil(rows / (8 GROUPS)) folded, y = ceil(count / COLUMNS). 8 invocations = one subgroup of at least 8.
// x is loaded eight elements at a time, one a lane, and broadcast. Measured on lavapipe: GROUPS 4 is best for one column.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/formats.glsl"
#define WeightWords Words
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

    uint word_at[GROUPS]; // of this lane in block 0
    uint scale_at[GROUPS];
    for (uint g = 0; g < GROUPS; ++g) {
        uint group = min(first_group + g, groups - 1);
        word_at[g] = group * blocks * block_words * 8 + lane;
        scale_at[g] = group * blocks * 8 + lane;
    }
    uint x_at[COLUMNS];
    for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = min(first_column + c, a.count - 1) * a.x_stride * 4 + lane;

    float sums[GROUPS * COLUMNS];
    for (uint i = 0; i < GROUPS * COLUMNS; ++i)
        sums[i] = 0;

    for (uint b = 0; b < blocks; ++b) {
        float part[GROUPS * COLUMNS];
        for (uint i = 0; i < GROUPS * COLUMNS; ++i)
            part[i] = 0;
        for (uint eight = 0; eight < 4; ++eight) {
            float x8[COLUMNS];
            for (uint c = 0; c < COLUMNS; ++c)
                x8[c] = a.x.v[x_at[c] + b * 32 + eight * 8];
            for (uint word = 0; word < 8 / word_elements; ++word) {
                vec4 w[GROUPS];
                for (uint g = 0; g < GROUPS; ++g)
                    w[g] = decode_word(
                        a.weights.v[word_at[g] + (b * block_words + eight * (8 / word_elements) + word) * 8]);
                for (uint e = 0; e < word_elements; ++e)
                    for (uint c = 0; c < COLUMNS; ++c) {
                        float xk = subgroupBroadcast(x8[c], word * word_elements + e);
                        for (uint g = 0; g < GROUPS; ++g)
                            part[g * COLUMNS + c] = fma(w[g][e], xk, part[g * COLUMNS + c]);
                    }
            }
        }
        for (uint g = 0; g < GROUPS; ++g) {
#if FORMAT == FORMAT_q8
            float scale = uintBitsToFloat(a.scales.v[scale_at[g] + b * 8]);
#else
            const float scale = 1;
#endif
            for (uint c = 0; c < COLUMNS; ++c)
                sums[g * COLUMNS + c] = fma(scale, part[g * COLUMNS + c], sums[g * COLUMNS + c]);
        }
    }

    for (uint g = 0; g < GROUPS; ++g) {
        uint row = (first_group + g) * 8 + lane;
        for (uint c = 0; c < COLUMNS; ++c)
            if (row < a.rows && first_column + c < a.count)
                store_sum(first_column + c, row, sums[g * COLUMNS + c]);
    }
}
