// y[r][m] (=|+=) sum_p routing_weights[p] (sum_k W_e[m][k] x[p][k] + bias[e][m]) over the pairs p of row r, e = experts[p]; without BIAS, bias
// is 0. One dispatch without atomics: the order of additions depends on the row's own choices alone.
// W: [experts][rows padded to 8][columns] in FORMAT, arrangement tiles; x: blocks of halves (include/halves.glsl) [pair]; bias: f32
// [experts, rows]; y: f32 [rows of the batch, y_stride].
// Grid: x = rows of the batch, so that neighbours in time read the same experts; y = ceil(rows / 8). A quarter of a tile is a slice's
// work at a time; tiles are numbered over the row's choices, those of an expert next to each other.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#ifdef CODES
#extension GL_EXT_integer_dot_product : require
#endif
#include "shaders/linear/tile_sums.glsl" // GROUPS and COLUMNS: 1
#define InputElements Vectors
#include "shaders/experts/arguments.h"

layout(constant_id = 5) const uint BIAS = 0;
layout(push_constant, std430) uniform Push { ExpertDownArguments a; };

shared uint experts[32];          // of the row
shared float routing_weights[32]; // of its choices

void load_choices(uint first_pair) {
    uint choice = gl_LocalInvocationID.x;
    if (choice < a.experts_per_token) {
        experts[choice] = min(a.experts.v[first_pair + choice], a.expert_count - 1);
        routing_weights[choice] = a.routing_weights.v[first_pair + choice];
    }
    barrier();
}

void main() {
    uint r = gl_WorkGroupID.x;
    uint group = gl_WorkGroupID.y;
    uint row = gl_LocalInvocationID.x % 8;
    uint slice = gl_LocalInvocationID.x / 8;
    uint first_pair = r * a.experts_per_token;
    begin_tiles(a.column_tiles);
    load_choices(first_pair);

    uint expert_bytes = a.padded_rows / 8 * a.column_tiles * tile_bytes;
    uint quarter = slice % PARTS;
    Chunk chunk = chunk_of(row, quarter);
    uint64_t w_at = uint64_t(a.weights) + uint64_t(group) * (a.column_tiles * tile_bytes);
    uint64_t x_at = uint64_t(a.x) + uint64_t(first_pair) * (a.column_tiles * block_bytes);
    float sums[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        sums[i] = 0;
    for (uint number = slice / PARTS; number < a.experts_per_token * a.column_tiles; number += SLICES / PARTS) {
        uint choice = (number * a.column_tiles_inverse) >> 24;
        uint tile = number - choice * a.column_tiles;
        uint64_t w[GROUPS];
        w[0] = w_at + uint64_t(experts[choice]) * expert_bytes;
        uint64_t x[COLUMNS];
        x[0] = x_at;
        float part[SUMS];
        part[0] = 0;
        add_chunk(w, tile * tile_bytes + row * 16, x, number * block_bytes + quarter * quarter_bytes, row, quarter, chunk, part);
        sums[0] = fma(routing_weights[choice], part[0], sums[0]);
    }
    share_sums(sums);
    barrier();
    uint m = group * 8 + row;
    if (slice != 0 || m >= a.rows)
        return;
    float sum = sum_of_slices(0, row);
    if (BIAS != 0)
        for (uint choice = 0; choice < a.experts_per_token; ++choice)
            sum = fma(routing_weights[choice], a.bias.v[experts[choice] * a.rows + m], sum);
    uint at = r * a.y_stride + m;
    a.y.v[at] = a.add != 0 ? a.y.v[at] + sum : sum;
}
