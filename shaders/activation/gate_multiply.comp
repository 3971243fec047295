// gate[r][k] = act(g) * u, g = gate[r][k], u = up[r][k]; with BIASES gate_bias[e][k] is added to g and up_bias[e][k] to u,
// e = experts[r]; act: see gated.glsl. With ROW_GATE the row is also multiplied by 1 / (1 + exp(-row_gate[r])).
// gate, up: f32 [rows, stride], strides in vec4; row_gate: f32 [rows, row_gate_stride]; gate_bias, up_bias: f32
// [experts, columns]; experts: u32 [rows].
// With HALVES the result is also written as blocks of halves (include/halves.glsl), for columns a multiple of 256.
// Grid: x = ceil(columns / 256), y = rows; 64 invocations, four neighbouring elements each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/halves.glsl"
layout(constant_id = 2) const uint HALVES = 0; // 2: with codes
#define HALVED_BLOCKS 1
#define WITH_CODES (HALVES == 2)
#include "shaders/include/halve_block.glsl"
#include "shaders/activation/arguments.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0; // kernels::Gate
layout(constant_id = 1) const uint BIASES = 0;
layout(constant_id = 3) const uint ROW_GATE = 0;
layout(push_constant, std430) uniform Push { GateMultiplyArguments a; };

#include "shaders/activation/gated.glsl"

void main() {
    uint quad = gl_GlobalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    uint count = quad * 4 < a.columns ? min(a.columns - quad * 4, 4u) : 0; // elements of this invocation
    vec4 y = vec4(0);
    if (count > 0) { // padding after the columns is zero and may be read
        vec4 x = a.gate.v[r * a.gate_stride + quad];
        vec4 u = a.up.v[r * a.up_stride + quad];
        float factor = ROW_GATE != 0 ? 1 / (1 + exp(-a.row_gate.v[r * a.row_gate_stride])) : 1;
        uint at = BIASES != 0 ? min(a.experts.v[r], a.expert_count - 1) * a.columns + quad * 4 : 0;
        [[unroll]] for (uint e = 0; e < 4; ++e)
            if (e < count) {
                if (BIASES != 0) {
                    x[e] += a.gate_bias.v[at + e];
                    u[e] += a.up_bias.v[at + e];
                }
                y[e] = gated(x[e], u[e]);
                if (ROW_GATE != 0)
                    y[e] *= factor;
            }
        a.gate.v[r * a.gate_stride + quad] = y;
    }
    if (HALVES != 0)
        halve_block(y, count > 0, a.words, a.floats, (r * (a.columns / 256) + gl_WorkGroupID.x) * block_bytes / 4);
}
