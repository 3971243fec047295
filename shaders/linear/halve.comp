// Rows of f32 as blocks of halves (include/halves.glsl), for the kernels of weights in tiles.
// x: f32 [rows, x_stride x 4], columns a multiple of 256; y: [rows][columns / 256] blocks.
// Grid: x = columns / 256, y = rows; 64 invocations, four elements each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/halves.glsl"
#define HALVED_BLOCKS 1
#include "shaders/include/halve_block.glsl"
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { HalveArguments a; };

void main() {
    uint block = gl_WorkGroupID.y * a.blocks + gl_WorkGroupID.x;
    vec4 x = a.x.v[gl_WorkGroupID.y * a.x_stride + gl_WorkGroupID.x * 64 + gl_LocalInvocationID.x];
    halve_block(x, true, a.words, a.y, block * block_bytes / 4);
}
