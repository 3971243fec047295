// y[r][c] = silu(bias[c] + sum over d < WIDTH of weight[c][d] x[p - WIDTH + 1 + d][c]), p the position of row r: a causal
// convolution of each channel with its own weights, as in arXiv 2312.00752, section 3.4. x before position 0 is zero.
// x, y: f32 [rows, stride]; weight: f32 [channels, WIDTH]; bias: f32 [channels].
// ring: f32 [slots, length, channels], the x of position p at p % length. Rows of this step are read from x and older ones
// from the ring. A rejected draft needs no undoing: the next row at its position overwrites it.
// Grid: x = ceil(channels / 64), y = sequences; an invocation computes the rows of one channel in order.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/sequences.h"
#include "shaders/delta/arguments.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint WIDTH = 4;
layout(constant_id = 1) const uint USE_BIAS = 0;
layout(push_constant, std430) uniform Push { ShortConvolutionArguments a; };

void main() {
    uint c = gl_GlobalInvocationID.x;
    if (c >= a.channels)
        return;
    SequenceInfo sequence = sequence_at(a.sequences, gl_WorkGroupID.y, a.slots, a.rows);
    uint ring = sequence.slot * a.ring_length * a.channels + c;

    float weight[WIDTH];
    float window[WIDTH]; // x at the last WIDTH positions, the row's own at the end
    [[unroll]] for (uint d = 0; d < WIDTH; ++d) {
        weight[d] = a.weight.v[c * WIDTH + d];
        uint back = WIDTH - d; // from the first row's position
        uint place = (sequence.position - back) % a.ring_length;
        window[d] = d > 0 && sequence.position >= back ? a.ring.v[ring + place * a.channels] : 0.0;
    }
    float bias = USE_BIAS != 0 ? a.bias.v[c] : 0.0;
    for (uint n = 0; n < sequence.row_count; ++n) {
        uint row = sequence.first_row + n;
        [[unroll]] for (uint d = 0; d + 1 < WIDTH; ++d)
            window[d] = window[d + 1];
        window[WIDTH - 1] = a.x.v[row * a.x_stride + c];
        float sum = bias;
        [[unroll]] for (uint d = 0; d < WIDTH; ++d)
            sum = fma(weight[d], window[d], sum);
        a.y.v[row * a.y_stride + c] = sum / (1 + exp(-sum));
        if (n + a.ring_length >= sequence.row_count)
            a.ring.v[ring + (sequence.position + n) % a.ring_length * a.channels] = window[WIDTH - 1];
    }
}
