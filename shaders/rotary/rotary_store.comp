// Per row and head: x = x / sqrt(mean(x^2) + epsilon) * norm (q and k, when asked for), then for each pair (i, j)
// (x_i, x_j) = (x_i cos - x_j sin, x_i sin + x_j cos); q goes back in place, k and v into the cache. arXiv 2104.09864.
// q: f32 [rows, q_stride]; k, v: f32 [rows, kv_stride]; cache as in include/cache.glsl.
// Grid: x = q_heads + 2 kv_heads, y = rows; WORKGROUP invocations share one head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/rows.h"
#include "shaders/include/cache.glsl"
#include "shaders/rotary/arguments.h"

layout(constant_id = 2) const uint HEAD_DIM = 64;
layout(constant_id = 3) const uint HALVES = 0;    // 1: pairs (i, i + rotated / 2), 0: (2i, 2i + 1)
layout(constant_id = 4) const uint USE_NORMS = 0;
const uint head_stride = (HEAD_DIM + 7) / 8 * 8;
layout(push_constant, std430) uniform Push { RotaryStoreArguments a; };

shared float head[512];

void load_head(Floats x, uint from) {
    for (uint d = gl_LocalInvocationID.x; d < head_stride; d += WORKGROUP)
        head[d] = d < HEAD_DIM ? x.v[from + d] : 0.0;
}

void normalise(Floats weight) {
    float squares = 0;
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        squares = fma(head[d], head[d], squares);
    float factor = inversesqrt(workgroup_sum(squares) / float(HEAD_DIM) + a.epsilon);
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        head[d] = head[d] * factor * weight.v[d];
}

void rotate(uint row) {
    uint half_dims = a.rotated / 2;
    for (uint p = gl_LocalInvocationID.x; p < half_dims; p += WORKGROUP) {
        uint i = HALVES != 0 ? p : 2 * p;
        uint j = HALVES != 0 ? p + half_dims : 2 * p + 1;
        vec2 angle = a.angles.v[row * half_dims + p];
        float x = head[i];
        float y = head[j];
        head[i] = x * angle.x - y * angle.y;
        head[j] = x * angle.y + y * angle.x;
    }
}

void store_cache(Words cache, uint first) {
#if CACHE == CACHE_f32
    for (uint d = gl_LocalInvocationID.x; d < head_stride; d += WORKGROUP)
        cache.v[first + d] = floatBitsToUint(head[d]);
#else
    for (uint w = gl_LocalInvocationID.x; w < head_stride / 2; w += WORKGROUP)
        cache.v[first / 2 + w] = packHalf2x16(clamp(vec2(head[2 * w], head[2 * w + 1]), -65504.0, 65504.0));
#endif
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
            normalise(a.norms);
        barrier();
        rotate(r);
        barrier();
        for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
            a.q.v[from + d] = head[d];
        return;
    }
    bool is_key = h < a.q_heads + a.kv_heads;
    uint kv_head = (h - a.q_heads) % a.kv_heads;
    uint from = r * a.kv_stride + kv_head * HEAD_DIM;
    uint page = page_of(row, a.tables, row.index, a.pages);
    uint first = cache_place(page, a.kv_heads, kv_head, row.index, head_stride);
    if (is_key) {
        load_head(a.k, from);
        barrier();
        if (USE_NORMS != 0)
            normalise(a.k_norms);
        barrier();
        rotate(r);
        barrier();
        store_cache(a.keys, first);
    } else {
        load_head(a.v, from);
        barrier();
        store_cache(a.values, first);
    }
}
