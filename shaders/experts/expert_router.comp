// router[r][e] = sum_k W[e][k] x[r][k] + bias[e], and the choices of each row of it, as choose.glsl says.
// W: f32 [experts, columns x 4] in rows; x: f32 [rows, x_stride x 4]; bias, selection_bias: f32 [experts]; router: f32 [rows, router_stride];
// experts: u32, routing_weights: f32 [rows, experts_per_token].
// Grid: x = experts, y = ceil(rows / COLUMNS); WORKGROUP invocations share a row of W. Sums run in the same order whatever COLUMNS is.
// The workgroup that finishes last among those of x chooses for its rows; no workgroup waits for another.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#define InputElements Vectors
#include "shaders/experts/arguments.h"

layout(constant_id = 2) const uint COLUMNS = 1; // 1..4
layout(constant_id = 3) const uint NORMALISED = 1;
layout(constant_id = 4) const uint SIGMOID = 0;
layout(constant_id = 5) const uint BIASED = 0;
layout(constant_id = 6) const uint GROUPED = 0;
const uint SUMS = COLUMNS;
#include "shaders/include/reduce_sums.glsl"
layout(push_constant, std430) uniform Push { ExpertRouterArguments a; };
#include "shaders/experts/choose.glsl"

shared uint finished_before; // workgroups of the same rows

void main() {
    uint t = gl_LocalInvocationID.x;
    uint expert = gl_WorkGroupID.x;
    uint first_row = gl_WorkGroupID.y * COLUMNS;
    uint x_at[COLUMNS];
    float sums[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        x_at[c] = min(first_row + c, a.rows - 1) * a.x_stride;
        sums[c] = 0;
    }
    for (uint i = t; i < a.columns; i += WORKGROUP) {
        vec4 w = a.weights.v[expert * a.columns + i];
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            vec4 x = a.x.v[x_at[c] + i];
            sums[c] = fma(w.w, x.w, fma(w.z, x.z, fma(w.y, x.y, fma(w.x, x.x, sums[c]))));
        }
    }
    share_sums(sums);
    for (uint c = t; c < COLUMNS; c += WORKGROUP)
        if (first_row + c < a.rows) {
            float sum = shared_sum(c);
            a.router.v[(first_row + c) * a.router_stride + expert] = a.use_bias != 0 ? sum + a.bias.v[expert] : sum;
        }

    memoryBarrierBuffer();
    barrier();
    if (t == 0)
        finished_before = atomicAdd(a.counters.v[gl_WorkGroupID.y], 1);
    barrier();
    if (finished_before != a.expert_count - 1)
        return;
    memoryBarrierBuffer();
    if (t == 0)
        a.counters.v[gl_WorkGroupID.y] = 0;
    for (uint r = first_row; r < min(first_row + COLUMNS, a.rows); ++r) {
        barrier();
        choose(r);
    }
}
