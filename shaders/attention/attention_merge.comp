// y = sum_i exp(m_i - M) s_i / sum_i exp(m_i - M) l_i over a row's KV splits i in order, M = max m_i: merges
// attention.comp's partials for rows whose keys span several KV splits. Partials: see arguments.h;
// y: f32 [rows, heads x HEAD_DIM].
// Grid: x = query heads, y = rows; 64 invocations share one head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/rows.h"
#include "shaders/attention/arguments.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint HEAD_DIM = 64;
const uint head_stride = (HEAD_DIM + 7) / 8 * 8;
layout(push_constant, std430) uniform Push { AttentionArguments a; };
#include "shaders/attention/kv_splits.glsl"

void main() {
    uint h = gl_WorkGroupID.x;
    uint r = gl_WorkGroupID.y;
    RowInfo row = a.rows.v[r];
    uint kv_splits = min(last_kv_split(row) - first_kv_split(row) + 1, a.kv_splits);
    if (kv_splits == 1)
        return;
    float largest = a.partials.v[partial_at(r, h, 0) + head_stride];
    for (uint i = 1; i < kv_splits; ++i)
        largest = max(largest, a.partials.v[partial_at(r, h, i) + head_stride]);
    float total = 0;
    for (uint i = 0; i < kv_splits; ++i) {
        uint at = partial_at(r, h, i) + head_stride;
        total = fma(exp(a.partials.v[at] - largest), a.partials.v[at + 1], total);
    }
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += 64) {
        float sum = 0;
        for (uint i = 0; i < kv_splits; ++i) {
            uint at = partial_at(r, h, i);
            sum = fma(exp(a.partials.v[at + head_stride] - largest), a.partials.v[at + d], sum);
        }
        a.y.v[r * a.y_stride + h * HEAD_DIM + d] = sum / total;
    }
}
