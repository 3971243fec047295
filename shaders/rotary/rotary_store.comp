// Per row and head: x = x / sqrt(mean(x^2) + epsilon) * norm (q and k, if enabled), then for each pair (i, j)
// (x_i, x_j) = (x_i cos - x_j sin, x_i sin + x_j cos); q is multiplied by temperature() and written in place, k and v
// into the cache. arXiv 2104.09864.
// q: f32 [rows, q_stride]; k, v: f32 [rows, kv_stride]; cache as in include/cache.glsl.
// Grid: x = q_heads + 2 kv_heads, y = rows; WORKGROUP invocations share one head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/nan_probe.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/rows.h"
#include "shaders/rotary/arguments.h"

layout(constant_id = 2) const uint HEAD_DIM = 64;
layout(constant_id = 3) const uint HALVES = 0;    // 1: pairs (i, i + rotated / 2), 0: (2i, 2i + 1)
layout(constant_id = 4) const uint USE_NORMS = 0;
layout(constant_id = 5) const uint KEYS_FORMAT = 1;
layout(constant_id = 6) const uint VALUES_FORMAT = 1;
layout(push_constant, std430) uniform Push { RotaryStoreArguments a; };
#include "shaders/rotary/heads.glsl"

void load_head(Floats x, uint from) {
    for (uint d = gl_LocalInvocationID.x; d < head_stride; d += WORKGROUP)
        head[d] = d < HEAD_DIM ? x.v[from + d] : 0.0;
}

void main() {
    uint h = gl_WorkGroupID.x;
    uint r = gl_WorkGroupID.y;
    RowInfo row = a.rows.v[r];
    if (h < a.q_heads) {
        uint from = r * a.q_stride + h * HEAD_DIM;
        load_head(a.q, from);
        barrier();
        if (USE_NORMS != 0)
            normalise(a.norms, a.epsilon);
        barrier();
        rotate(r);
        barrier();
        float factor = temperature(row.position);
        for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
            a.q.v[from + d] = head[d] * factor;
        return;
    }
    bool is_key = h < a.q_heads + a.kv_heads;
    uint kv_head = (h - a.q_heads) % a.kv_heads;
    uint from = r * a.kv_stride + kv_head * HEAD_DIM;
    uint page = page_of(row, a.tables, row.position, a.pages);
    if (is_key) {
        load_head(a.k, from);
        barrier();
        if (USE_NORMS != 0)
            normalise(a.k_norms, a.epsilon);
        barrier();
        rotate(r);
        barrier();
        store_cache(a.keys, KEYS_FORMAT, page, kv_head, row.position);
    } else {
        load_head(a.v, from);
        barrier();
        store_cache(a.values, VALUES_FORMAT, page, kv_head, row.position);
    }
}
