// y = sum_i exp(m_i - M) s_i / sum_i exp(m_i - M) l_i over a row's KV splits i in order, M = max m_i: merges
// attention.comp's partials for rows whose keys span several KV splits. Partials: see arguments.h;
// y: f32 [rows, heads x HEAD_DIM].
// Grid: x = query heads, y = rows; 64 invocations share one head. The loads of TOGETHER splits are issued together.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/rows.h"
#include "shaders/attention/arguments.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint HEAD_DIM = 64;
const uint head_stride = (HEAD_DIM + 7) / 8 * 8;
const uint TOGETHER = 8;
layout(push_constant, std430) uniform Push { AttentionArguments a; };
#include "shaders/attention/kv_splits.glsl"

// Element `at` of the partials of KV splits [first, first + TOGETHER); the last split's for those after it.
void load_partials(uint r, uint h, uint first, uint kv_splits, uint at, out float x[TOGETHER]) {
    [[unroll]] for (uint i = 0; i < TOGETHER; ++i)
        x[i] = a.partials.v[partial_at(r, h, min(first + i, kv_splits - 1)) + at];
}

float largest_score(uint r, uint h, uint kv_splits) {
    float largest = uintBitsToFloat(0xFF800000u);
    for (uint first = 0; first < kv_splits; first += TOGETHER) {
        float scores[TOGETHER];
        load_partials(r, h, first, kv_splits, head_stride, scores);
        [[unroll]] for (uint i = 0; i < TOGETHER; ++i)
            largest = max(largest, scores[i]);
    }
    return largest;
}

// The weighted sum of element `at` of all partials, in order.
float merged(uint r, uint h, uint kv_splits, float largest, uint at) {
    float sum = 0;
    for (uint first = 0; first < kv_splits; first += TOGETHER) {
        float scores[TOGETHER];
        float x[TOGETHER];
        load_partials(r, h, first, kv_splits, head_stride, scores);
        load_partials(r, h, first, kv_splits, at, x);
        [[unroll]] for (uint i = 0; i < TOGETHER; ++i)
            sum = first + i < kv_splits ? fma(exp(scores[i] - largest), x[i], sum) : sum;
    }
    return sum;
}

void main() {
    uint h = gl_WorkGroupID.x;
    uint r = gl_WorkGroupID.y;
    RowInfo row = a.rows.v[r];
    uint kv_splits = min(last_kv_split(row) - first_kv_split(row) + 1, a.kv_splits);
    if (kv_splits == 1)
        return;
    float largest = largest_score(r, h, kv_splits);
    float total = merged(r, h, kv_splits, largest, head_stride + 1);
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += 64)
        a.y.v[r * a.y_stride + h * HEAD_DIM + d] = merged(r, h, kv_splits, largest, d) / total;
}
