// y[c][m] (=|+=) sum_k W[m][k] x[c][k] for many columns c: the prefill path of GPUs without matrix units.
// W: [rows, columns] in FORMAT, arrangement rows; x: f32 [count, x_stride x 4]; y: f32 [count, y_stride].
// Grid: x, z = ceil(rows / 64) folded, y = ceil(count / 32). 256 invocations make a tile of 64 weight rows by 32
// columns, 4 x 2 each, over steps of 32 along k staged in shared memory (12.7 KiB); sums run along k in order.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 0 // rows
#include "shaders/include/formats.glsl"
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(local_size_x = 256) in;
layout(push_constant, std430) uniform Push { LinearArguments a; };
#include "shaders/linear/store.glsl"

const uint tile_rows = 64;
const uint tile_columns = 32;
const uint step_elements = 32;
shared float w_tile[step_elements * (tile_rows + 1)];    // [k][row], padded against bank conflicts
shared float x_tile[step_elements * (tile_columns + 1)]; // [k][column]

void load_weights(uint first_row, uint step_index) {
    uint m = gl_LocalInvocationID.x / 4;
    uint eight = gl_LocalInvocationID.x % 4;
    uint row = min(first_row + m, a.rows - 1);
    uint blocks = a.columns / 32;
    vec4 w[2];
    load_eight(a.weights, row_start(row, weight_words(blocks)), row_stride, blocks, step_index, eight, w);
    vec2 scale = load_scale(a.scales, row_start(row, scale_words(blocks)), row_stride,
                            (step_index * 32 + eight * 8) / SUB_ELEMENTS);
    [[unroll]] for (uint e = 0; e < 8; ++e)
        w_tile[(eight * 8 + e) * (tile_rows + 1) + m] = fma(scale.x, w[e / 4][e % 4], scale.y);
}

void load_columns(uint first_column, uint step_index) {
    uint c = gl_LocalInvocationID.x / 8;
    uint v = gl_LocalInvocationID.x % 8;
    uint column = min(first_column + c, a.count - 1);
    vec4 x = a.x.v[column * a.x_stride + step_index * 8 + v];
    [[unroll]] for (uint e = 0; e < 4; ++e)
        x_tile[(v * 4 + e) * (tile_columns + 1) + c] = x[e];
}

void main() {
    uint first_row = folded_group() * tile_rows;
    if (first_row >= a.rows)
        return;
    uint first_column = gl_WorkGroupID.y * tile_columns;
    uint m = gl_LocalInvocationID.x % 16;
    uint c = gl_LocalInvocationID.x / 16;

    float sums[4][2];
    [[unroll]] for (uint i = 0; i < 4; ++i)
        sums[i][0] = sums[i][1] = 0;
    for (uint s = 0; s < a.columns / step_elements; ++s) {
        barrier();
        load_weights(first_row, s);
        load_columns(first_column, s);
        barrier();
        for (uint k = 0; k < step_elements; ++k) {
            float x0 = x_tile[k * (tile_columns + 1) + c];
            float x1 = x_tile[k * (tile_columns + 1) + c + 16];
            [[unroll]] for (uint i = 0; i < 4; ++i) {
                float w = w_tile[k * (tile_rows + 1) + m + 16 * i];
                sums[i][0] = fma(w, x0, sums[i][0]);
                sums[i][1] = fma(w, x1, sums[i][1]);
            }
        }
    }
    [[unroll]] for (uint i = 0; i < 4; ++i)
        [[unroll]] for (uint j = 0; j < 2; ++j) {
            uint row = first_row + m + 16 * i;
            uint column = first_column + c + 16 * j;
            if (row < a.rows && column < a.count)
                store_sum(column, row, sums[i][j]);
        }
}
