// Per row: the `used` largest of router[row], smaller number first among equals, and shares[i] = exp(r_i) / sum_j exp(r_j)
// over them, which is their softmax over all experts brought to the sum 1 (arXiv 2505.09388).
// router: f32 [rows, router_stride]; experts: u32, shares: f32 [rows, used].
// Grid: x = rows; WORKGROUP invocations share one row. At most 1024 experts, 32 used.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
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
    for (uint i = 0; i < a.used; ++i) {
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
            a.experts.v[r * a.used + i] = id;
        }
    }
    barrier();
    if (t != 0)
        return;
    float sum = 0;
    for (uint i = 0; i < a.used; ++i)
        sum += exp(chosen[i] - chosen[0]);
    for (uint i = 0; i < a.used; ++i)
        a.shares.v[r * a.used + i] = exp(chosen[i] - chosen[0]) / sum;
}
