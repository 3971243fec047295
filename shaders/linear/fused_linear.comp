// Decode rows of weights in tiles, with activation, residual and next norm. For few columns c,
//   y[c][m] (=|+=) f[c] sum_k W[m][k] x[c][k] + bias[m], or with GATED act(f[c] sum_k W[m][k] x[c][k]) f[c] sum_k U[m][k] x[c][k],
// and y as blocks of halves (include/halves.glsl) for the next matrix; with NORM y times the next norm's weights instead, and
// squares[c][b] = sum of y[c][m]^2 over the 256 rows m of block b. f[c] is 1, or the factor of a pending norm (pending_norm.glsl).
// nan_probes[c]: the smallest number of a probe that saw a sum of squares that is not finite.
// W, U: [rows, columns] in FORMAT, arrangement tiles (include/tiles.glsl), rows a multiple of 256; x: blocks of halves; y: f32
// [count, y_stride].
// Grid: x, z = rows / ROWS folded, y = ceil(count / COLUMNS). With GATED, half of the groups are rows of U.
// The workgroup that finishes a block of 256 rows last makes its halves; no workgroup waits for another.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#ifdef CODES
#extension GL_EXT_integer_dot_product : require
#endif
#include "shaders/linear/tile_sums.glsl"
#include "shaders/linear/pending_norm.glsl"
#include "shaders/include/half.glsl"
layout(constant_id = 7) const uint HALVES = 1; // 2: with codes
#define HALVED_BLOCKS (WORKGROUP / 64)
#define WITH_CODES (HALVES == 2)
#include "shaders/include/halve_block.glsl"
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(constant_id = 4) const uint GATED = 0; // 1: GROUPS is even
layout(constant_id = 5) const uint KIND = 0;  // kernels::Gate, with GATED
layout(constant_id = 6) const uint NORM = 0;
const uint ROWS = 8 * GROUPS / (1 + GATED); // of y, a workgroup; divides 256
layout(push_constant, std430) uniform Push { FusedLinearArguments a; };
#include "shaders/activation/gated.glsl"

shared uint finished_before; // workgroups of the same block and columns
shared float lane_squares[WORKGROUP];

void store(uint first_row, uint first_column) {
    bool pending = (a.options & linear_pending_norm) != 0;
    for (uint output_index = gl_LocalInvocationID.x; output_index < ROWS * COLUMNS; output_index += WORKGROUP) {
        uint i = output_index / 8; // [group of y][column]
        uint row = first_row + i / COLUMNS * 8 + output_index % 8;
        uint column = first_column + i % COLUMNS;
        float factor = norm_factor(pending, i % COLUMNS, a.tiles, a.epsilon);
        float y = factor * sum_of_slices(i, output_index % 8);
        if (GATED != 0)
            y = gated(y, factor * sum_of_slices(i + SUMS / 2, output_index % 8));
        if (row >= a.rows || column >= a.count)
            continue;
        if ((a.options & linear_bias_0) != 0)
            y += a.bias.v[row];
        uint at = column * a.y_stride + row;
        if ((a.options & linear_add) != 0)
            y += a.y.v[at / 4][at % 4];
        a.y.v[at / 4][at % 4] = y;
    }
}

// The sum of the squares of a block's 256 elements, four a lane; valid in the block's first lane. Called by whole workgroups.
float block_squares(vec4 y) {
    uint lane = gl_LocalInvocationID.x;
    lane_squares[lane] = fma(y.x, y.x, fma(y.y, y.y, fma(y.z, y.z, y.w * y.w)));
    [[unroll]] for (uint width = 8; width > 0; width /= 8) { // 64 to 8 to 1
        float sum = 0;
        barrier();
        if (lane % 64 < width)
            [[unroll]] for (uint i = 0; i < 8; ++i)
                sum += lane_squares[lane + i * width];
        barrier();
        if (lane % 64 < width)
            lane_squares[lane] = sum;
    }
    return lane_squares[lane];
}

// Halves of a block of 256 rows, of the workgroup's columns.
void finish_block(uint block, uint first_column) {
    const uint columns_at_once = WORKGROUP / 64;
    uint slot = gl_LocalInvocationID.x / 64;
    uint lane = gl_LocalInvocationID.x % 64;
    [[unroll]] for (uint first = 0; first < COLUMNS; first += columns_at_once) {
        uint column = first_column + first + slot;
        bool is_stored = first + slot < COLUMNS && column < a.count;
        uint row = block * 256 + lane * 4;
        vec4 y = is_stored ? a.y.v[(column * a.y_stride + row) / 4] : vec4(0);
        uint at = column * (a.rows / 256) + block;
        if (NORM != 0) {
            float squares = block_squares(y);
            if (is_stored && lane == 0) {
                a.out_squares.v[at] = squares;
                if (!is_finite(squares))
                    atomicMin(a.nan_probes.v[column], a.nan_probe);
            }
            y *= a.norm.v[row / 4];
        }
        halve_block(y, is_stored, a.words, a.floats, at * block_bytes / 4);
    }
}

void main() {
    uint first_row = folded_group() * ROWS;
    if (first_row >= a.rows)
        return;
    uint first_column = gl_WorkGroupID.y * COLUMNS;
    begin_tiles(a.tiles);
    float squares[COLUMNS];
    load_squares((a.options & linear_pending_norm) != 0, a.squares, first_column, a.count, a.tiles, squares);
    if (COLUMNS > 1) // frees their registers; with one column, they arrive during the walk
        share_squares(squares);

    const uint y_groups = GROUPS / (1 + GATED);
    uint64_t w_at[GROUPS];
    [[unroll]] for (uint g = 0; g < GROUPS; ++g)
        w_at[g] = (g < y_groups ? uint64_t(a.weights) : uint64_t(a.up)) + uint64_t(first_row / 8 + g % y_groups) * (a.tiles * tile_words * 4);
    uint64_t x_at[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = uint64_t(a.x) + uint64_t(min(first_column + c, a.count - 1)) * (a.tiles * block_bytes);
    float sums[SUMS];
    add_tiles(w_at, x_at, a.tiles, sums);
    share_sums(sums);
    if (COLUMNS == 1)
        share_squares(squares);
    barrier();
    store(first_row, first_column);

    memoryBarrierBuffer();
    barrier();
    uint block = first_row / 256;
    uint counter = gl_WorkGroupID.y * (a.rows / 256) + block;
    if (gl_LocalInvocationID.x == 0)
        finished_before = atomicAdd(a.counters.v[counter], 1);
    barrier();
    if (finished_before != 256 / ROWS - 1)
        return;
    memoryBarrierBuffer();
    if (gl_LocalInvocationID.x == 0)
        a.counters.v[counter] = 0;
    finish_block(block, first_column);
}
