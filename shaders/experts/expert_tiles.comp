// GATED: y[p][m] = act(g + gate_bias[e][m]) (u + up_bias[e][m]), g = sum_k G_e[m][k] x[p / pairs_each][k], u that of U_e, for each pair
// p and its expert e; act: activation/gated.glsl. Else y[p][m] = g. Without BIASES, biases are 0.
// G, U: [experts][rows padded to 8][columns] in FORMAT, arrangement tiles; x: blocks of halves (include/halves.glsl); y: f32 [pairs,
// y_stride]; biases: f32 [experts, rows]. With HALVES y is also written as blocks of halves, for rows a multiple of 256.
// Grid: x, z = ceil(rows / 8), or ceil(rows / 16) without GATED, folded; y = pairs, or with GROUPED tiles of pairs that share an expert.
// The workgroup that finishes a block of 256 outputs last writes its halves; no workgroup waits for another.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#ifdef CODES
#extension GL_EXT_integer_dot_product : require
#endif
#include "shaders/linear/tile_sums.glsl" // GROUPS: 2, of gate and up, or neighbours of one matrix
#include "shaders/include/half.glsl"
#define InputElements Vectors
#include "shaders/experts/arguments.h"
#include "shaders/experts/groups.glsl"

layout(constant_id = 5) const uint GROUPED = 0;
layout(constant_id = 6) const uint GATED = 0;
layout(constant_id = 7) const uint KIND = 0; // kernels::Gate
layout(constant_id = 8) const uint BIASES = 0;
layout(constant_id = 9) const uint HALVES = 0; // 1: of y; 2: with codes
#define WITH_CODES (HALVES == 2)
#define HALVED_BLOCKS (HALVES != 0 ? WORKGROUP / 64 : 1)
#include "shaders/include/halve_block.glsl"
layout(push_constant, std430) uniform Push { ExpertTilesArguments a; };
const uint EVERY = 0;
#include "shaders/experts/tile.glsl"
#include "shaders/activation/gated.glsl"

shared uint finished_before; // workgroups of the same pairs and block

// The workgroup's pairs: false if it has none.
bool find_pairs() {
    if (GROUPED != 0)
        return find_tile();
    tile_expert = min(a.experts.v[gl_WorkGroupID.y], a.expert_count - 1);
    tile_count = 1;
    return true;
}

uint pair_at(uint c) { return GROUPED != 0 ? pair_of(c) : gl_WorkGroupID.y; }

void store_gated(uint first_row) {
    uint c = gl_LocalInvocationID.x / 8;
    uint in_group = gl_LocalInvocationID.x % 8;
    uint row = first_row + in_group;
    if (c >= tile_count || row >= a.rows)
        return;
    float gate = sum_of_slices(c, in_group);
    float up = sum_of_slices(COLUMNS + c, in_group);
    if (BIASES != 0) {
        gate += a.gate_bias.v[tile_expert * a.rows + row];
        up += a.up_bias.v[tile_expert * a.rows + row];
    }
    a.y.v[pair_at(c) * a.y_stride + row] = gated(gate, up);
}

void store_plain(uint first_row) {
    uint i = gl_LocalInvocationID.x / 8;
    uint in_group = gl_LocalInvocationID.x % 8;
    uint row = first_row + i / COLUMNS * 8 + in_group;
    uint c = i % COLUMNS;
    if (i < SUMS && c < tile_count && row < a.rows)
        a.y.v[pair_at(c) * a.y_stride + row] = sum_of_slices(i, in_group);
}

// Whole workgroups: the last one of a block writes it as halves.
void halve_outputs(uint block) {
    uint t = gl_LocalInvocationID.x;
    memoryBarrierBuffer();
    barrier();
    uint counter = gl_WorkGroupID.y * (a.rows / 256) + block;
    if (t == 0)
        finished_before = atomicAdd(a.counters.v[counter], 1);
    barrier();
    if (finished_before != 256 / 8 - 1)
        return;
    memoryBarrierBuffer();
    if (t == 0)
        a.counters.v[counter] = 0;
    for (uint first = 0; first < tile_count; first += WORKGROUP / 64) {
        uint c = first + t / 64;
        uint pair = pair_at(min(c, tile_count - 1));
        uint at = pair * a.y_stride + block * 256 + t % 64 * 4;
        vec4 y = vec4(a.y.v[at], a.y.v[at + 1], a.y.v[at + 2], a.y.v[at + 3]);
        halve_block(y, c < tile_count, a.words, a.floats, (pair * (a.rows / 256) + block) * block_bytes / 4);
    }
}

void main() {
    uint first_group = folded_group() * (GATED != 0 ? 1 : GROUPS);
    uint groups = a.padded_rows / 8;
    if (first_group >= groups || !find_pairs())
        return;
    begin_tiles(a.column_tiles);
    uint64_t expert_at = uint64_t(tile_expert) * (groups * a.column_tiles * tile_bytes);
    uint64_t w_at[GROUPS];
    [[unroll]] for (uint g = 0; g < GROUPS; ++g) {
        uint group = GATED != 0 ? first_group : min(first_group + g, groups - 1);
        uint64_t matrices = GATED != 0 && g == 1 ? uint64_t(a.up) : uint64_t(a.gate);
        w_at[g] = matrices + expert_at + uint64_t(group) * (a.column_tiles * tile_bytes);
    }
    uint64_t x_at[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = uint64_t(a.x) + uint64_t(pair_at(c) / a.pairs_each) * (a.column_tiles * block_bytes);
    float sums[SUMS];
    add_tiles(w_at, x_at, a.column_tiles, sums);
    share_sums(sums);
    barrier();
    if (GATED != 0)
        store_gated(first_group * 8);
    else
        store_plain(first_group * 8);
    if (HALVES != 0)
        halve_outputs(first_group / 32);
}
