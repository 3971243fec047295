// The choices of each row of router, as choose.glsl says.
// router: f32 [rows, router_stride]; experts: u32, routing_weights: f32 [rows, experts_per_token].
// Grid: x = rows; WORKGROUP invocations share one row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
layout(constant_id = 2) const uint NORMALISED = 1;
#define InputElements Floats
#include "shaders/experts/arguments.h"

layout(push_constant, std430) uniform Push { ExpertRouteArguments a; };
#include "shaders/experts/choose.glsl"

void main() {
    uint r = gl_WorkGroupID.x;
    for (uint e = gl_LocalInvocationID.x; e < a.expert_count; e += WORKGROUP)
        left[e] = a.router.v[r * a.router_stride + e];
    choose(r);
}
