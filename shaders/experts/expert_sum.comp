// y[r][k] += sum_i shares[r][i] x[r used + i][k], in the order of the choices.
// x: f32 [rows x used, x_stride]; shares: f32 [rows, used]; y: f32 [rows, y_stride].
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
    for (uint i = r * a.used; i < (r + 1) * a.used; ++i)
        sum = fma(a.shares.v[i], a.x.v[i * a.x_stride + k], sum);
    a.y.v[r * a.y_stride + k] += sum;
}
