// gate[r][k] = act(gate[r][k]) * up[r][k], act(x) = x / (1 + exp(-z)): z = x is SiLU, z = 2 sqrt(2 / pi) (x + 0.044715 x^3)
// is GELU by tanh (arXiv 1606.08415), because (1 + tanh(z / 2)) / 2 = 1 / (1 + exp(-z)).
// gate, up: f32 [rows, stride]. Grid: x = ceil(columns / 64), y = rows; 64 invocations, one element each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/activation/arguments.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint GELU = 0;
layout(push_constant, std430) uniform Push { GateMultiplyArguments a; };

void main() {
    uint k = gl_GlobalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    if (k >= a.columns)
        return;
    float x = a.gate.v[r * a.gate_stride + k];
    float z = GELU != 0 ? 1.5957691216057308 * (x + 0.044715 * x * x * x) : x;
    a.gate.v[r * a.gate_stride + k] = x / (1 + exp(-z)) * a.up.v[r * a.up_stride + k];
}
