// x[r][h] = x[r][h] / sqrt(mean(x[r][h]^2) + epsilon) * weight * silu(z[r][h]) for each head h, in place; silu(z) = z / (1 +
// exp(-z)).
// x, z: f32 [rows, stride] with heads x head_dim columns; weight: f32 [head_dim], shared by the heads.
// Grid: x = heads, y = rows; WORKGROUP invocations share one head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/sequences.h"
#include "shaders/delta/arguments.h"

layout(push_constant, std430) uniform Push { GatedRmsNormArguments a; };

void main() {
    uint head = gl_WorkGroupID.x * a.head_dim;
    uint x_at = gl_WorkGroupID.y * a.x_stride + head;
    uint z_at = gl_WorkGroupID.y * a.z_stride + head;
    float squares = 0;
    for (uint k = gl_LocalInvocationID.x; k < a.head_dim; k += WORKGROUP)
        squares = fma(a.x.v[x_at + k], a.x.v[x_at + k], squares);
    float factor = inversesqrt(workgroup_sum(squares) / float(a.head_dim) + a.epsilon);
    for (uint k = gl_LocalInvocationID.x; k < a.head_dim; k += WORKGROUP) {
        float z = a.z.v[z_at + k];
        a.x.v[x_at + k] = a.x.v[x_at + k] * factor * a.weight.v[k] * (z / (1 + exp(-z)));
    }
}
