// y[r][k] += sum_p routing_weights[p] (x[p][k] + bias[experts[p]][k]) over the pairs p of row r, in the order of the
// choices; without BIAS, bias is 0.
// x: f32 [rows x experts_per_token, x_stride]; routing_weights: f32, experts: u32 [rows, experts_per_token];
// bias: f32 [experts, columns]; y: f32 [rows, y_stride].
// Grid: x = ceil(columns / 64), y = rows; 64 invocations, one element each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#define InputElements Floats
#include "shaders/experts/arguments.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint BIAS = 0;
layout(push_constant, std430) uniform Push { ExpertSumArguments a; };

void main() {
    uint k = gl_GlobalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    if (k >= a.columns)
        return;
    float sum = 0;
    for (uint p = r * a.experts_per_token; p < (r + 1) * a.experts_per_token; ++p) {
        float x = a.x.v[p * a.x_stride + k];
        if (BIAS != 0)
            x += a.bias.v[min(a.experts.v[p], a.expert_count - 1) * a.columns + k];
        sum = fma(a.routing_weights.v[p], x, sum);
    }
    a.y.v[r * a.y_stride + k] += sum;
}
