// y[p][m] = sum_k W_e[m][k] x[p / pairs_each][k] for the pairs p of an expert e that a tile holds, on GPUs.
// W: [experts][rows padded to 8][columns] in FORMAT, arrangement rows; x: f32 [rows, x_stride x 4]; y: f32 [pairs, y_stride].
// Grid: x, z = ceil(rows / ROWS) folded, y = tiles. WORKGROUP invocations walk along ROWS weight rows, a unit each
// (formats.glsl); every sum runs in the same order whatever the tile holds.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 0 // rows
#include "shaders/include/formats.glsl"
#include "shaders/include/reduce.glsl"
#define InputElements Vectors
#include "shaders/experts/arguments.h"
#include "shaders/experts/groups.glsl"

layout(constant_id = 2) const uint ROWS = 2;    // 1..4
layout(constant_id = 3) const uint COLUMNS = 1; // 1..8
const uint SUMS = ROWS * COLUMNS;
#include "shaders/include/reduce_sums.glsl"
layout(push_constant, std430) uniform Push { ExpertLinearArguments a; };
#include "shaders/experts/tile.glsl"

const uint sub_vectors = min(SUB_ELEMENTS / 4, unit_vectors); // of a unit, that share a scale

// The elements of one unit of a stack row.
void load_weights(uint row, uint unit, out vec4 w[unit_vectors]) {
    uint blocks = a.columns / 32;
    load_unit(a.quads, a.weights, row_start(row, weight_words(blocks)), blocks, unit, w);
    [[unroll]] for (uint i = 0; i < unit_vectors; ++i) {
        uint sub = (unit * unit_vectors + i / sub_vectors * sub_vectors) * 4 / SUB_ELEMENTS;
        vec2 scale = load_scale(a.scales, row_start(row, scale_words(blocks)), row_stride, sub);
        w[i] = fma(vec4(scale.x), w[i], vec4(scale.y));
    }
}

void main() {
    uint first_row = folded_group() * ROWS;
    if (first_row >= a.rows || !find_tile())
        return;
    uint x_at[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = pair_of(c) / a.pairs_each * a.x_stride;

    float sums[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        sums[i] = 0;
    for (uint unit = gl_LocalInvocationID.x; unit < a.columns / (4 * unit_vectors); unit += WORKGROUP) {
        vec4 w[ROWS][unit_vectors];
        [[unroll]] for (uint r = 0; r < ROWS; ++r)
            load_weights(stack_row(first_row + r), unit, w[r]);
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
            [[unroll]] for (uint i = 0; i < unit_vectors; ++i) {
                vec4 x = a.x.v[x_at[c] + unit * unit_vectors + i];
                [[unroll]] for (uint r = 0; r < ROWS; ++r)
                    [[unroll]] for (uint e = 0; e < 4; ++e)
                        sums[r * COLUMNS + c] = fma(w[r][i][e], x[e], sums[r * COLUMNS + c]);
            }
    }

    share_sums(sums);
    for (uint i = gl_LocalInvocationID.x; i < SUMS; i += WORKGROUP) {
        uint row = first_row + i / COLUMNS;
        uint column = i % COLUMNS;
        if (row < a.rows && column < tile_count)
            a.y.v[pair_of(column) * a.y_stride + row] = shared_sum(i);
    }
}
