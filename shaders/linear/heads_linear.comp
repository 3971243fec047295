// Decode rows of a layer's q, k and v, or some of them, from weights in tiles: y[c] = f[c] W x[c] + bias as in linear_tiles.comp, then each
// head as in rotary_store.comp: norm, rotation, temperature; q into y, k and v into the cache. The last workgroup to finish a head
// does this; no workgroup waits for another.
// W: [heads x HEAD_DIM, columns] in FORMAT, arrangement tiles (include/tiles.glsl); x: blocks of halves (include/halves.glsl);
// y: f32 [count, y_strides]; cache as in include/cache.glsl.
// Grid: x, z = sum over the matrices of rows / (8 GROUPS) folded, y = ceil(count / COLUMNS).
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
#include "shaders/include/rows.h"
#define InputElements Vectors
#include "shaders/linear/arguments.h"
#include "shaders/rotary/arguments.h"

layout(constant_id = 4) const uint HEAD_DIM = 64; // a multiple of 8 GROUPS, at most 512
layout(constant_id = 5) const uint HALVES = 0;    // as in rotary_store.comp
layout(constant_id = 6) const uint USE_NORMS = 0;
layout(constant_id = 7) const uint KEYS_FORMAT = 1;
layout(constant_id = 8) const uint VALUES_FORMAT = 1;
#define StackOutput CoherentFloats
layout(push_constant, std430) uniform Push { HeadsLinearArguments a; };
#include "shaders/linear/stack.glsl"

shared uint finished_before; // workgroups of the same head and columns

// Over the workgroup, in the memory of the slices' sums.
float workgroup_sum(float value) {
    uint lane = gl_LocalInvocationID.x;
    slice_sums[lane] = value;
    barrier();
    float sum = 0;
    if (lane < 8)
        [[unroll]] for (uint i = 0; i < SLICES; ++i)
            sum += slice_sums[i * 8 + lane];
    barrier();
    if (lane < 8)
        slice_sums[lane] = sum;
    barrier();
    sum = 0;
    [[unroll]] for (uint i = 0; i < 8; ++i)
        sum += slice_sums[i];
    return sum;
}
#include "shaders/rotary/heads.glsl"

void finish_head(Member m, uint role, uint head_index, uint column) {
    uint from = column * m.y_stride + head_index * HEAD_DIM;
    RowInfo row = a.infos.v[column];
    for (uint d = gl_LocalInvocationID.x; d < head_stride; d += WORKGROUP)
        head[d] = d < HEAD_DIM ? m.y.v[from + d] : 0.0;
    barrier();
    if (role != heads_value) {
        if (USE_NORMS != 0) {
            Floats weight = a.norms;
            if (role == heads_key)
                weight = a.k_norms;
            normalise(weight, a.head_epsilon);
            barrier();
        }
        rotate(column);
        barrier();
    }
    if (role == heads_query) {
        float factor = temperature(row.position);
        for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
            m.y.v[from + d] = head[d] * factor;
        return;
    }
    uint page = page_of(row, a.tables, row.position, a.pages);
    if (role == heads_key)
        store_cache(a.keys, KEYS_FORMAT, page, head_index, row.position);
    else
        store_cache(a.values, VALUES_FORMAT, page, head_index, row.position);
}

// First counter of a role: [role][workgroup of y][head].
uint first_counter(uint role) {
    uint heads_before = role == heads_query ? 0 : role == heads_key ? a.q_heads : a.q_heads + a.kv_heads;
    return a.count * heads_before;
}

void main() {
    Member m = member_of(folded_group());
    uint first_row = m.first_group * 8;
    if (first_row >= m.rows)
        return;
    uint first_column = gl_WorkGroupID.y * COLUMNS;
    multiply(m, first_column);

    memoryBarrierBuffer();
    barrier();
    uint role = a.options >> heads_role_shift + 2 * m.index & 3;
    uint head_index = first_row / HEAD_DIM;
    uint counter = first_counter(role) + gl_WorkGroupID.y * (m.rows / HEAD_DIM) + head_index;
    if (gl_LocalInvocationID.x == 0)
        finished_before = atomicAdd(a.counters.v[counter], 1);
    barrier();
    if (finished_before != HEAD_DIM / (8 * GROUPS) - 1)
        return;
    memoryBarrierBuffer();
    if (gl_LocalInvocationID.x == 0)
        a.counters.v[counter] = 0;
    for (uint column = first_column; column < min(first_column + COLUMNS, a.count); ++column) {
        finish_head(m, role, head_index, column);
        barrier();
    }
}
