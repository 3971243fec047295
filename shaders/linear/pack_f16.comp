// Rows of f32 as rows of f16 with one factor (include/f16_row.glsl), for matrix units.
// x: f32 [rows, x_stride x 4], columns a multiple of 256; y: [rows] of columns x 2 + 16 bytes.
// Grid: x = rows; WORKGROUP invocations, a power of two, share a row, four neighbouring elements at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/f16_row.glsl"
#define InputElements Words
#include "shaders/linear/arguments.h"

layout(push_constant, std430) uniform Push { PackF16Arguments a; };

void main() {
    uint row = gl_WorkGroupID.x;
    uint quads = a.columns / 4;
    float largest = 0;
    for (uint k = gl_LocalInvocationID.x; k < quads; k += WORKGROUP) {
        vec4 x = abs(a.x.v[row * a.x_stride + k]);
        largest = max(largest, max(max(x.x, x.y), max(x.z, x.w)));
    }
    float factor = f16_row_factor(workgroup_max(largest));
    uint to = row * (a.columns / 2 + 4);
    for (uint k = gl_LocalInvocationID.x; k < quads; k += WORKGROUP) {
        vec4 x = a.x.v[row * a.x_stride + k] / factor;
        a.words.v[to + 2 * k] = pack_halves(x.xy);
        a.words.v[to + 2 * k + 1] = pack_halves(x.zw);
    }
    if (gl_LocalInvocationID.x == 0)
        a.words.v[to + a.columns / 2] = floatBitsToUint(factor);
}
