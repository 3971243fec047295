// y[c][m] (=|+=) sum_k W[m][k] x[c][k] for few columns c: the decode path of GPUs.
// W: [rows, columns] in FORMAT, arrangement rows; x: f32 [count, x_stride x 4]; y: f32 [count, y_stride].
// Grid: x, z = ceil(rows / ROWS) folded, y = ceil(count / COLUMNS). WORKGROUP invocations walk along ROWS weight rows,
// a unit each (formats.glsl), neighbours side by side; every sum runs in the same order whatever COLUMNS is.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 0 // rows
#include "shaders/include/formats.glsl"
#include "shaders/include/reduce.glsl"
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
    uint blocks = a.columns / 32;
    const uint sub_vectors = min(SUB_ELEMENTS / 4, unit_vectors); // of a unit, that share a scale
    const uint subs = unit_vectors / sub_vectors;

    float sums[ROWS * COLUMNS];
    [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i)
        sums[i] = 0;

    for (uint unit = gl_LocalInvocationID.x; unit < a.columns / (4 * unit_vectors); unit += WORKGROUP) {
        vec4 w[ROWS][unit_vectors];
        vec2 scale[ROWS][subs];
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
            uint row = min(first_row + r, a.rows - 1);
            load_unit(a.quads, a.weights, row_start(row, weight_words(blocks)), blocks, unit, w[r]);
            [[unroll]] for (uint s = 0; s < subs; ++s)
                scale[r][s] = load_scale(a.scales, row_start(row, scale_words(blocks)), row_stride,
                                         (unit * unit_vectors + s * sub_vectors) * 4 / SUB_ELEMENTS);
#ifdef HAS_OFFSET
            [[unroll]] for (uint i = 0; i < unit_vectors; ++i)
                w[r][i] = fma(vec4(scale[r][i / sub_vectors].x), w[r][i], vec4(scale[r][i / sub_vectors].y));
#endif
        }
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            uint column = min(first_column + c, a.count - 1);
            vec4 x[unit_vectors];
            [[unroll]] for (uint i = 0; i < unit_vectors; ++i)
                x[i] = a.x.v[column * a.x_stride + unit * unit_vectors + i];
            [[unroll]] for (uint r = 0; r < ROWS; ++r) {
                float sum = sums[r * COLUMNS + c];
                [[unroll]] for (uint s = 0; s < subs; ++s) {
                    float part = 0;
                    [[unroll]] for (uint i = s * sub_vectors; i < (s + 1) * sub_vectors; ++i)
                        for (uint e = 0; e < 4; ++e)
                            part = fma(w[r][i][e], x[i][e], part);
#ifdef HAS_OFFSET
                    sum += part;
#else
                    sum = fma(scale[r][s].x, part, sum);
#endif
                }
                sums[r * COLUMNS + c] = sum;
            }
        }
    }

    [[unroll]] for (uint r = 0; r < ROWS; ++r)
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            float sum = workgroup_sum(sums[r * COLUMNS + c]);
            if (gl_LocalInvocationID.x == 0 && first_row + r < a.rows && first_column + c < a.count)
                store_sum(first_column + c, first_row + r, sum);
        }
}
