// x[r][k] = cap tanh(x[r][k] / cap), in place (Gemma 2, arXiv 2408.00118, section 2).
// x: f32 [rows, stride]. Grid: x = ceil(columns / 64), y = rows; 64 invocations, one element each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/soft_cap.glsl"
#include "shaders/activation/arguments.h"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { SoftCapArguments a; };

void main() {
    uint k = gl_GlobalInvocationID.x;
    uint at = gl_WorkGroupID.y * a.stride + k;
    if (k < a.columns)
        a.x.v[at] = soft_cap(a.x.v[at], a.cap);
}
