// Rows of f32 as blocks of halves (include/halves.glsl), for the kernels of weights in tiles.
// x: f32 [rows, x_stride x 4], columns a multiple of 256; y: [rows][columns / 256] blocks.
// Grid: x = columns / 256, y = rows; 64 invocations, four elements each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/halves.glsl"
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { HalveArguments a; };

shared uint largest; // bits of the block's largest magnitude; these sort like the values, NaN last
shared vec2 quarter_sums[64]; // of halves, and weighted as nibbles need them

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint block = gl_WorkGroupID.y * a.blocks + gl_WorkGroupID.x;
    vec4 x = a.x.v[gl_WorkGroupID.y * a.x_stride + gl_WorkGroupID.x * 64 + lane];
    if (lane == 0)
        largest = 0;
    barrier();
    uvec4 bits = floatBitsToUint(x) & 0x7FFFFFFFu;
    atomicMax(largest, max(max(bits.x, bits.y), max(bits.z, bits.w)));
    barrier();
    // The power of two at or below the largest, away from the ends of the range so that it has an inverse.
    float factor = uintBitsToFloat(clamp(largest & 0x7F800000u, 0x01000000u, 0x7E000000u));
    x /= factor;
    uvec2 halves = uvec2(pack_halves(x.xy), pack_halves(x.zw));
    vec4 rounded = vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
    quarter_sums[lane] = vec2((rounded.x + rounded.y) + (rounded.z + rounded.w),
                              1024 * (rounded.x + rounded.y) + 64 * (rounded.z + rounded.w));
    uint at = block * block_bytes;
    a.words.v[(at + block_halves) / 4 + lane * 2] = halves.x;
    a.words.v[(at + block_halves) / 4 + lane * 2 + 1] = halves.y;
    if (lane == 0)
        a.y.v[at / 4] = factor;
    barrier();
    if (lane < 16) {
        vec2 sum = vec2(0);
        [[unroll]] for (uint i = 0; i < 4; ++i)
            sum += quarter_sums[lane * 4 + i];
        a.y.v[(at + block_sums) / 4 + lane] = sum.x;
        a.y.v[(at + block_nibble_sums) / 4 + lane] = sum.y;
    }
}
