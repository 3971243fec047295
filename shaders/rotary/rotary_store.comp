// Per row and head: x = x / sqrt(mean(x^2) + epsilon) * norm (q and k, if enabled), then for each pair (i, j)
// (x_i, x_j) = (x_i cos - x_j sin, x_i sin + x_j cos); q is multiplied by temperature() and written in place, k and v
// into the cache; with NORM_VALUES v is normalised without a weight. arXiv 2104.09864.
// q: f32 [rows, q_stride]; k, v: f32 [rows, kv_stride]; cache as in include/cache.glsl.
// Grid: x = q_heads + 2 kv_heads, or q_heads if nothing is stored, y = rows; WORKGROUP invocations share one head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/rows.h"
#include "shaders/include/nan_probe.glsl"
#include "shaders/rotary/arguments.h"

layout(constant_id = 2) const uint HEAD_DIM = 64;
layout(constant_id = 3) const uint HALVES = 0;    // 1: pairs (i, i + rotated / 2), 0: (2i, 2i + 1)
layout(constant_id = 4) const uint USE_NORMS = 0;
layout(constant_id = 5) const uint KEYS_FORMAT = 1;
layout(constant_id = 6) const uint VALUES_FORMAT = 1;
layout(constant_id = 7) const uint NORM_VALUES = 0;
#include "shaders/include/cache.glsl"
layout(push_constant, std430) uniform Push { RotaryStoreArguments a; };

shared float head[512];

void load_head(Floats x, uint from) {
    for (uint d = gl_LocalInvocationID.x; d < head_stride; d += WORKGROUP)
        head[d] = d < HEAD_DIM ? x.v[from + d] : 0.0;
}

// Divides the head by its root mean square.
void normalise() {
    float squares = 0;
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        squares = fma(head[d], head[d], squares);
    float factor = inversesqrt(workgroup_sum(squares) / float(HEAD_DIM) + a.epsilon);
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        head[d] *= factor;
}

void normalise(Floats weight) {
    normalise();
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        head[d] *= weight.v[d];
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

// 1 + scale ln(1 + floor(position / tokens)): Llama 4's factor of a query.
float temperature(uint position) {
    uint periods = position / max(a.temperature_tokens, 1u);
    return a.temperature_scale != 0 && periods > 0 ? 1 + a.temperature_scale * log(1 + float(periods)) : 1;
}

const float half_max = 65504.0;

// Values that are not finite become NaN, so that they propagate to the logits.
float within_half(float x) { return is_finite(x) ? clamp(x, -half_max, half_max) : uintBitsToFloat(0x7FC00000u); }

// The scale of 32 elements of head[] as stored in the cache: the largest magnitude is code 127.
float block_scale(uint block) {
    float largest = 0;
    bool finite = true;
    for (uint d = block * 32; d < min(block * 32 + 32, head_stride); ++d) {
        largest = max(largest, abs(head[d]));
        finite = finite && is_finite(head[d]);
    }
    return finite ? unpackHalf2x16(pack_halves(vec2(min(largest / 127.0, half_max), 0))).x : uintBitsToFloat(0x7FC00000u);
}

uint code_of(float x, float scale) {
    float code = scale > 0 ? clamp(roundEven(x / scale), -127.0, 127.0) : 0.0;
    return uint(int(code)) & 0xFFu;
}

void store_q8_0(Words cache, uint piece, uint position) {
    for (uint w = gl_LocalInvocationID.x; w < head_stride / 4; w += WORKGROUP) {
        float scale = block_scale(w / 8);
        uint word = 0;
        for (uint e = 0; e < 4; ++e)
            word |= code_of(head[4 * w + e], scale) << 8 * e;
        cache.v[piece + position * (head_stride / 4) + w] = word;
    }
    for (uint w = gl_LocalInvocationID.x; w < scale_words; w += WORKGROUP)
        cache.v[scales_at(piece, position) + w] = pack_halves(vec2(block_scale(2 * w), block_scale(2 * w + 1)));
}

void store_cache(Words cache, uint format, uint page, uint kv_head, uint index) {
    uint piece = piece_at(format, page, a.kv_heads, kv_head);
    uint position = index % PAGE_TOKENS;
    uint first = piece + position * position_words(format);
    if (format == CACHE_F32) {
        for (uint d = gl_LocalInvocationID.x; d < head_stride; d += WORKGROUP)
            cache.v[first + d] = floatBitsToUint(head[d]);
    } else if (format == CACHE_F16) {
        for (uint w = gl_LocalInvocationID.x; w < head_stride / 2; w += WORKGROUP)
            cache.v[first + w] = pack_halves(vec2(within_half(head[2 * w]), within_half(head[2 * w + 1])));
    } else {
        store_q8_0(cache, piece, position);
    }
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
            normalise(a.k_norms);
        barrier();
        rotate(r);
        barrier();
        store_cache(a.keys, KEYS_FORMAT, page, kv_head, row.position);
    } else {
        load_head(a.v, from);
        barrier();
        if (NORM_VALUES != 0) {
            normalise();
            barrier();
        }
        store_cache(a.values, VALUES_FORMAT, page, kv_head, row.position);
    }
}
