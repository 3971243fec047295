// The choices of each row of router, as choose.glsl says.
// router: f32 [rows, router_stride]; selection_bias: f32 [experts]; experts: u32, routing_weights: f32 [rows, experts_per_token].
// Grid: x = rows; WORKGROUP invocations share one row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
layout(constant_id = 2) const uint NORMALISED = 1;
layout(constant_id = 3) const uint SIGMOID = 0;
layout(constant_id = 4) const uint BIASED = 0;
layout(constant_id = 5) const uint GROUPED = 0;
#define InputElements Floats
#include "shaders/experts/arguments.h"

layout(push_constant, std430) uniform Push { ExpertRouteArguments a; };
#include "shaders/experts/choose.glsl"

void main() { choose(gl_WorkGroupID.x); }
