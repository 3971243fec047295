// y[r][k] += sum_i routing_weights[r][i] x[r experts_per_token + i][k], in the order of the choices.
// x: f32 [rows x experts_per_token, x_stride]; routing_weights: f32 [rows, experts_per_token]; y: f32 [rows, y_stride].
// Grid: x = ceil(columns / 64), y = rows; 64 invocations, one element each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#define InputElements Floats
#include "shaders/experts/arguments.h"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { ExpertSumArguments a; };

void main() {
    uint k = gl_GlobalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    if (k >= a.columns)
        return;
    float sum = 0;
    for (uint i = r * a.experts_per_token; i < (r + 1) * a.experts_per_token; ++i)
        sum = fma(a.routing_weights.v[i], a.x.v[i * a.x_stride + k], sum);
    a.y.v[r * a.y_stride + k] += sum;
}
