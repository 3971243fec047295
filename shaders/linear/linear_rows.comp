// y[c][m] (=|+=) sum_k W[m][k] x[c][k] for few columns c: the generation path of GPUs.
// W: [rows, columns] in FORMAT, arrangement rows; x: f32 [count, x_stride x 4]; y: f32 [count, y_stride].
// Grid: x, z = ceil(rows / ROWS) folded, y = ceil(count / COLUMNS). WORKGROUP invocations walk along ROWS weight rows,
// 16 bytes each, neighbours side by side; every sum runs in the same order whatever COLUMNS is.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/formats.glsl"
#include "shaders/include/reduce.glsl"
#define WeightWords Quads
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(constant_id = 2) const uint ROWS = 2;    // 1..4
layout(constant_id = 3) const uint COLUMNS = 1; // 1..8
layout(push_constant, std430) uniform Push { LinearArguments a; };
#include "shaders/linear/store.glsl"

void main() {
    uint first_row = folded_group() * ROWS;
    if (first_row >= a.rows)
        return;
    uint first_column = gl_WorkGroupID.y * COLUMNS;
    uint quads = a.columns / quad_elements; // in a row

    float sums[ROWS * COLUMNS];
    for (uint i = 0; i < ROWS * COLUMNS; ++i)
        sums[i] = 0;

    for (uint q = gl_LocalInvocationID.x; q < quads; q += WORKGROUP) {
        vec4 w[ROWS][4];
        float scale[ROWS];
        for (uint r = 0; r < ROWS; ++r) {
            uint row = min(first_row + r, a.rows - 1);
            decode_quad(a.weights.v[row * quads + q], w[r]);
#if FORMAT == FORMAT_q8
            scale[r] = row_scale(a.scales, row * (a.columns / 32) + q / 2);
#endif
        }
        for (uint c = 0; c < COLUMNS; ++c) {
            uint column = min(first_column + c, a.count - 1);
            vec4 x[quad_vectors];
            for (uint i = 0; i < quad_vectors; ++i)
                x[i] = a.x.v[column * a.x_stride + q * quad_vectors + i];
            for (uint r = 0; r < ROWS; ++r) {
#if FORMAT == FORMAT_q8
                float part = 0;
#else
                float part = sums[r * COLUMNS + c];
#endif
                for (uint i = 0; i < quad_vectors; ++i)
                    for (uint e = 0; e < 4; ++e)
                        part = fma(w[r][i][e], x[i][e], part);
#if FORMAT == FORMAT_q8
                part = fma(scale[r], part, sums[r * COLUMNS + c]);
#endif
                sums[r * COLUMNS + c] = part;
            }
        }
    }

    for (uint r = 0; r < ROWS; ++r)
        for (uint c = 0; c < COLUMNS; ++c) {
            float sum = workgroup_sum(sums[r * COLUMNS + c]);
            if (gl_LocalInvocationID.x == 0 && first_row + r < a.rows && first_column + c < a.count)
                store_sum(first_column + c, first_row + r, sum);
        }
}
