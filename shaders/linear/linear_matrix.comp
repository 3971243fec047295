// y[c][m] (=|+=) sum_k W[m][k] x[c][k] for many columns c: the prefill path of GPUs with matrix units
// (VK_KHR_cooperative_matrix). Weights and inputs are rounded to f16, products and sums are f32.
// W: [rows, columns] in FORMAT x ARRANGEMENT, rows or tiles; x: f32 [count, x_stride x 4]; y: f32 [count, y_stride].
// f16 cannot overflow: each column is divided by the power of two of its largest magnitude, and its sums are
// scaled back.
// Grid: x, z = ceil(rows / 64) folded, y = ceil(count / 32). WORKGROUP invocations, at least SUBGROUPS subgroups, make a
// tile of 64 weight rows by 32 columns from matrices of M x N x K, over steps of 32 along k in shared memory (16.5 KiB).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/formats.glsl"
#include "shaders/include/power_below.glsl"
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint WORKGROUP = 128;
layout(constant_id = 1) const uint SUBGROUPS = 4; // or more
layout(constant_id = 2) const uint M = 16;
layout(constant_id = 3) const uint N = 16;
layout(constant_id = 4) const uint K = 16;
layout(push_constant, std430) uniform Push { LinearArguments a; };
#include "shaders/linear/store.glsl"

const uint tile_rows = 64;
const uint tile_columns = 32;
const uint step_elements = 32;
const uint step_stride = step_elements + 8; // keeps rows on 16 bytes and off each other's banks
const uint sum_stride = tile_rows + 4;
const uint matrices = (tile_rows / M) * (tile_columns / N);
const uint own_matrices = (matrices + SUBGROUPS - 1) / SUBGROUPS;
shared float16_t w_tile[tile_rows * step_stride];    // [row][k]
shared float16_t x_tile[tile_columns * step_stride]; // [column][k]
shared float sum_tile[tile_columns * sum_stride];    // [column][row]
shared uint largest[tile_columns];                   // bits of a column's largest magnitude

vec4 input_at(uint first_column, uint c, uint step_index, uint v) {
    return a.x.v[min(first_column + c, a.count - 1) * a.x_stride + step_index * 8 + v];
}

void find_largest(uint first_column) {
    for (uint c = gl_LocalInvocationID.x; c < tile_columns; c += WORKGROUP)
        largest[c] = 0;
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < tile_columns * 8; i += WORKGROUP) {
        uint magnitude_max = 0; // the bits of magnitudes sort like their values, NaN last
        for (uint s = 0; s < a.columns / step_elements; ++s) {
            uvec4 bits = floatBitsToUint(input_at(first_column, i / 8, s, i % 8)) & 0x7FFFFFFFu;
            magnitude_max = max(magnitude_max, max(max(bits.x, bits.y), max(bits.z, bits.w)));
        }
        atomicMax(largest[i / 8], magnitude_max);
    }
    barrier();
}

void load_weights(uint first_row, uint step_index) {
    uint blocks = a.columns / 32;
    for (uint i = gl_LocalInvocationID.x; i < tile_rows * 4; i += WORKGROUP) {
        uint m = i / 4;
        uint eight = i % 4;
        uint row = min(first_row + m, a.rows - 1);
        vec4 w[2];
        load_row_eight(a.weights, row, blocks, step_index, eight, w);
        vec2 scale = load_row_scale(a.weights, a.scales, row, blocks, step_index, eight);
        [[unroll]] for (uint e = 0; e < 8; ++e)
            w_tile[m * step_stride + eight * 8 + e] = float16_t(fma(scale.x, w[e / 4][e % 4], scale.y));
    }
}

void load_columns(uint first_column, uint step_index) {
    for (uint i = gl_LocalInvocationID.x; i < tile_columns * 8; i += WORKGROUP) {
        uint c = i / 8;
        vec4 x = input_at(first_column, c, step_index, i % 8) / power_below(largest[c]);
        [[unroll]] for (uint e = 0; e < 4; ++e)
            x_tile[c * step_stride + i % 8 * 4 + e] = float16_t(x[e]);
    }
}

void main() {
    uint first_row = folded_group() * tile_rows;
    if (first_row >= a.rows)
        return;
    uint first_column = gl_WorkGroupID.y * tile_columns;
    find_largest(first_column);

    coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> sums[own_matrices];
    [[unroll]] for (uint i = 0; i < own_matrices; ++i)
        sums[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
    for (uint s = 0; s < a.columns / step_elements; ++s) {
        barrier();
        load_weights(first_row, s);
        load_columns(first_column, s);
        barrier();
        [[unroll]] for (uint k = 0; k < step_elements; k += K)
            [[unroll]] for (uint i = 0; i < own_matrices; ++i) {
                uint number = gl_SubgroupID + i * gl_NumSubgroups;
                if (number >= matrices)
                    break;
                coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> w;
                coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> x;
                coopMatLoad(w, w_tile, number % (tile_rows / M) * M * step_stride + k, step_stride,
                            gl_CooperativeMatrixLayoutRowMajor);
                coopMatLoad(x, x_tile, number / (tile_rows / M) * N * step_stride + k, step_stride,
                            gl_CooperativeMatrixLayoutColumnMajor);
                sums[i] = coopMatMulAdd(w, x, sums[i]);
            }
    }
    [[unroll]] for (uint i = 0; i < own_matrices; ++i) {
        uint number = gl_SubgroupID + i * gl_NumSubgroups;
        if (number < matrices)
            coopMatStore(sums[i], sum_tile, number / (tile_rows / M) * N * sum_stride + number % (tile_rows / M) * M,
                         sum_stride, gl_CooperativeMatrixLayoutColumnMajor);
    }
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < tile_rows * tile_columns; i += WORKGROUP) {
        uint c = i / tile_rows;
        uint row = first_row + i % tile_rows;
        if (row < a.rows && first_column + c < a.count)
            store_sum(first_column + c, row, sum_tile[c * sum_stride + i % tile_rows] * power_below(largest[c]));
    }
}
