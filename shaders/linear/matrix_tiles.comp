// y[c][m] (=|+=) sum_k W[m][k] x[c][k] + bias[m] for many columns c: prompts on GPUs with matrix units (VK_KHR_cooperative_matrix), for
// weights in tiles. Weights and inputs are rounded to f16, products and sums are f32.
// W: [rows, columns] in FORMAT, arrangement tiles (include/tiles.glsl); x: blocks of halves (include/halves.glsl); y: f32
// [count, y_stride]. The halves of a column are brought to the largest factor of its blocks, by a power of two.
// Grid: x, z = ceil(rows / ROWS) folded, y = ceil(count / COLUMNS). SUBGROUPS subgroups, SUBGROUPS_DOWN along the rows, make a tile of
// ROWS x COLUMNS sums from matrices of M x N x K. Shared memory holds two steps of 32 along k: while one is multiplied, the
// loads of the next one are under way, which is then decoded into the other half. The order of a sum depends on none of these sizes but K.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 2 // tiles
#include "shaders/include/formats.glsl"
#include "shaders/include/tile_words.glsl"
#include "shaders/include/halves.glsl"
#define InputElements Words
#include "shaders/linear/arguments.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint WORKGROUP = 128;
layout(constant_id = 1) const uint SUBGROUPS = 4;      // exactly
layout(constant_id = 2) const uint SUBGROUPS_DOWN = 2; // divides SUBGROUPS
layout(constant_id = 3) const uint ROWS = 128;         // a multiple of 8 and of M SUBGROUPS_DOWN
layout(constant_id = 4) const uint COLUMNS = 128;
layout(constant_id = 5) const uint M = 16;
layout(constant_id = 6) const uint N = 16;
layout(constant_id = 7) const uint K = 16;
layout(push_constant, std430) uniform Push { LinearArguments a; };
#include "shaders/linear/store.glsl"
#include "shaders/linear/tile_codes.glsl"
#include "shaders/linear/tile_runs.glsl"

const uint SUBGROUP = WORKGROUP / SUBGROUPS;
const uint own_rows = ROWS / SUBGROUPS_DOWN; // of a subgroup
const uint own_columns = COLUMNS / (SUBGROUPS / SUBGROUPS_DOWN);
const uint step_elements = 32;
const uint step_quads = step_elements / 8 + 1; // of a row in shared memory, with one that keeps rows off each other's banks
// An invocation decodes one or two runs of a row.
const uint unit_runs = 2 * ROWS > WORKGROUP ? 2 : 1;
const uint row_units = step_elements / run_elements / unit_runs;
const uint units = ROWS * row_units;
const uint own_units = (units + WORKGROUP - 1) / WORKGROUP;
const uint x_quads = COLUMNS * step_elements / 8;
const uint own_quads = (x_quads + WORKGROUP - 1) / WORKGROUP;
const uint sum_vectors = M * N / 4;
const uint w_quads = 2 * ROWS * step_quads;
shared uvec4 w_tile[w_quads > SUBGROUPS * sum_vectors ? w_quads : SUBGROUPS * sum_vectors]; // [step % 2][row][k]; then sums
shared uvec4 x_tile[2 * COLUMNS * step_quads];                                             // [step % 2][column][k]
shared float factors[COLUMNS]; // of the columns' halves

// What an invocation has loaded for a step.
struct Unit {
    Run runs[unit_runs];
    RunScales scales;
};
Unit w_units[own_units];
uvec4 x_words[own_quads];
float x_factors[own_quads]; // of their blocks

// A unit's row, and the first of its runs in a step.
uint unit_row(uint unit) { return unit / row_units; }
uint unit_run(uint unit) { return unit % row_units * unit_runs; }

uint64_t block_of(uint column, uint block) {
    return uint64_t(a.x) + uint64_t(column) * (a.columns / block_elements * block_bytes) + block * block_bytes;
}

uint column_of(uint quad) { return min(gl_WorkGroupID.y * COLUMNS + quad / 4, a.count - 1); }

void load_step(uint first_row, uint step_index) {
    uint tiles = a.columns / 256;
    uint last_group = (a.rows + 7) / 8 - 1;
    [[unroll]] for (uint i = 0; i < own_units; ++i) {
        uint unit = min(i * WORKGROUP + gl_LocalInvocationID.x, units - 1);
        uint row = unit_row(unit);
        uint group = min(first_row / 8 + row / 8, last_group);
        uint64_t tile = uint64_t(a.weights) + uint64_t(group) * (tiles * tile_words * 4) + step_index / 8 * (tile_words * 4) + row % 8 * 16;
        uint run = step_index % 8 * 2 + unit_run(unit);
        [[unroll]] for (uint r = 0; r < unit_runs; ++r)
            w_units[i].runs[r] = load_run(tile, run + r);
        w_units[i].scales = load_run_scales(tile, row % 8, run);
    }
    [[unroll]] for (uint i = 0; i < own_quads; ++i) {
        uint quad = min(i * WORKGROUP + gl_LocalInvocationID.x, x_quads - 1);
        uint64_t block = block_of(column_of(quad), step_index / 8);
        x_words[i] = OneQuad(block + step_index % 8 / 2 * quarter_bytes + quarter_halves + step_index % 2 * 64 + quad % 4 * 16).v;
        x_factors[i] = uintBitsToFloat(OneWord(block).v);
    }
}

void store_step(uint step_index) {
    [[unroll]] for (uint i = 0; i < own_units; ++i) {
        uint unit = i * WORKGROUP + gl_LocalInvocationID.x;
        uint at = (step_index % 2 * ROWS + unit_row(unit)) * step_quads + unit_run(unit) * 2;
        uint run = step_index % 8 * 2 + unit_run(unit);
        [[unroll]] for (uint r = 0; r < unit_runs; ++r) {
            uvec4 halves[2];
            decode_run(w_units[i].runs[r], run_scale(w_units[i].scales, run + r), halves);
            if (units % WORKGROUP == 0 || unit < units) {
                w_tile[at + 2 * r] = halves[0];
                w_tile[at + 2 * r + 1] = halves[1];
            }
        }
    }
    [[unroll]] for (uint i = 0; i < own_quads; ++i) {
        uint quad = i * WORKGROUP + gl_LocalInvocationID.x;
        if (x_quads % WORKGROUP != 0 && quad >= x_quads)
            break;
        f16vec2 ratio = f16vec2(float16_t(x_factors[i] / factors[quad / 4]));
        uvec4 halves;
        [[unroll]] for (uint w = 0; w < 4; ++w)
            halves[w] = packFloat2x16(unpackFloat2x16(x_words[i][w]) * ratio);
        x_tile[(step_index % 2 * COLUMNS + quad / 4) * step_quads + quad % 4] = halves;
    }
}

void find_factors() {
    for (uint c = gl_LocalInvocationID.x; c < COLUMNS; c += WORKGROUP) {
        uint column = min(gl_WorkGroupID.y * COLUMNS + c, a.count - 1);
        float largest = 0; // factors are finite
        for (uint block = 0; block < a.columns / block_elements; ++block)
            largest = max(largest, uintBitsToFloat(OneWord(block_of(column, block)).v));
        factors[c] = largest;
    }
}

// The matrices of a subgroup, at most 4 by 4, have names, so that no compiler indexes them in memory.
#define Sum coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
const uint sums_down = own_rows / M;
const uint sums_across = own_columns / N;
#define EACH_ACROSS(DO, i) DO(i, 0) DO(i, 1) DO(i, 2) DO(i, 3)
#define EACH_SUM(DO) EACH_ACROSS(DO, 0) EACH_ACROSS(DO, 1) EACH_ACROSS(DO, 2) EACH_ACROSS(DO, 3)

// Adds the sums of matrix (i, j) of the subgroup to y, by way of shared memory.
void store_sums(Sum sums, uint i, uint j, uint first_row, uint own_row, uint own_column) {
    uint scratch = gl_SubgroupID * sum_vectors;
    subgroupBarrier();
    coopMatStore(sums, w_tile, scratch, M / 4, gl_CooperativeMatrixLayoutColumnMajor);
    subgroupBarrier();
    for (uint e = gl_SubgroupInvocationID; e < M * N; e += SUBGROUP) {
        uint row = first_row + own_row + i * M + e % M;
        uint column = own_column + j * N + e / M;
        if (row < a.rows && gl_WorkGroupID.y * COLUMNS + column < a.count)
            store_sum(gl_WorkGroupID.y * COLUMNS + column, row, uintBitsToFloat(w_tile[scratch + e / 4][e % 4]) * factors[column]);
    }
}

void main() {
    uint first_row = folded_group() * ROWS;
    if (first_row >= a.rows)
        return;
    uint own_row = gl_SubgroupID % SUBGROUPS_DOWN * own_rows;
    uint own_column = gl_SubgroupID / SUBGROUPS_DOWN * own_columns;
    uint steps = a.columns / step_elements;
    set_masks(steps);
#ifdef LEVELS
    fill_levels();
#endif
    load_step(first_row, 0);
    find_factors();

#define DECLARE_SUM(i, j) Sum sum_##i##j = Sum(0.0);
    EACH_SUM(DECLARE_SUM)
    barrier();
    store_step(0);
    for (uint s = 0; s < steps; ++s) {
        barrier();
        load_step(first_row, min(s + 1, steps - 1)); // the last one again, which is not used
        uint w_at = (s % 2 * ROWS + own_row) * step_quads;
        uint x_at = (s % 2 * COLUMNS + own_column) * step_quads;
        [[unroll]] for (uint k = 0; k < step_elements; k += K) {
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> w;
            coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> x_0, x_1, x_2, x_3;
#define LOAD_X(j)                                                                                                              \
    if (j < sums_across)                                                                                                       \
        coopMatLoad(x_##j, x_tile, x_at + j * N * step_quads + k / 8, step_quads, gl_CooperativeMatrixLayoutColumnMajor);
            LOAD_X(0) LOAD_X(1) LOAD_X(2) LOAD_X(3)
#define ADD_PRODUCT(i, j)                                                                                                      \
    if (j < sums_across)                                                                                                       \
        sum_##i##j = coopMatMulAdd(w, x_##j, sum_##i##j);
#define ADD_ROW(i)                                                                                                             \
    if (i < sums_down) {                                                                                                       \
        coopMatLoad(w, w_tile, w_at + i * M * step_quads + k / 8, step_quads, gl_CooperativeMatrixLayoutRowMajor);             \
        EACH_ACROSS(ADD_PRODUCT, i)                                                                                            \
    }
            ADD_ROW(0) ADD_ROW(1) ADD_ROW(2) ADD_ROW(3)
        }
        store_step(s + 1);
    }

    barrier();
#define STORE_SUMS(i, j)                                                                                                       \
    if (i < sums_down && j < sums_across)                                                                                      \
        store_sums(sum_##i##j, i, j, first_row, own_row, own_column);
    EACH_SUM(STORE_SUMS)
}
