// Per row: the `experts_per_token` largest of router[row], the smaller id first among equals, and
// routing_weights[i] = exp(r_i) / sum_j exp(r_j) over them: their softmax over all experts scaled to the sum 1 (arXiv 2505.09388).
// Without NORMALISED the sum is over all experts of the row (arXiv 2407.10671).
// router: f32 [rows, router_stride]; experts: u32, routing_weights: f32 [rows, experts_per_token].
// Grid: x = rows; WORKGROUP invocations share one row. At most 1024 experts, 32 per token.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
layout(constant_id = 2) const uint NORMALISED = 1;
#define InputElements Floats
#include "shaders/experts/arguments.h"

layout(push_constant, std430) uniform Push { ExpertRouteArguments a; };

#define MINUS_INFINITY uintBitsToFloat(0xFF800000u)
shared float left[1024]; // not chosen yet
shared float chosen[32];

void main() {
    uint t = gl_LocalInvocationID.x;
    uint r = gl_WorkGroupID.x;
    for (uint e = t; e < a.expert_count; e += WORKGROUP)
        left[e] = a.router.v[r * a.router_stride + e];
    for (uint i = 0; i < a.experts_per_token; ++i) {
        barrier();
        float best = MINUS_INFINITY;
        uint id = a.expert_count - 1;
        for (uint e = t; e < a.expert_count; e += WORKGROUP)
            if (left[e] > best) {
                best = left[e];
                id = e;
            }
        workgroup_best(best, id);
        id = min(id, a.expert_count - 1); // no value is largest if all are NaN
        barrier();
        if (t == 0) {
            left[id] = MINUS_INFINITY;
            chosen[i] = best;
            a.experts.v[r * a.experts_per_token + i] = id;
        }
    }
    barrier();
    float sum = 0;
    if (NORMALISED == 0) {
        for (uint e = t; e < a.expert_count; e += WORKGROUP)
            sum += exp(a.router.v[r * a.router_stride + e] - chosen[0]);
        sum = workgroup_sum(sum);
    }
    if (t != 0)
        return;
    if (NORMALISED != 0)
        for (uint i = 0; i < a.experts_per_token; ++i)
            sum += exp(chosen[i] - chosen[0]);
    for (uint i = 0; i < a.experts_per_token; ++i)
        a.routing_weights.v[r * a.experts_per_token + i] = exp(chosen[i] - chosen[0]) / sum;
}
