// gate[r][k] = gate[r][k] / (1 + exp(-gate[r][k])) * up[r][k]
// gate, up: f32 [rows, stride]. Grid: x = ceil(columns / 64), y = rows; 64 invocations, one element each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/activation/arguments.h"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { SiluMultiplyArguments a; };

void main() {
    uint k = gl_GlobalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    if (k >= a.columns)
        return;
    float gate = a.gate.v[r * a.gate_stride + k];
    a.gate.v[r * a.gate_stride + k] = gate / (1 + exp(-gate)) * a.up.v[r * a.up_stride + k];
}
