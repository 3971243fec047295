// y_i[c][m] (=|+=) factor[c] sum_s part[s][c][first_i + m] + bias_i[m]: adds the parts of sums that matrix_tiles.comp has split along k, in
// their order, for a stack of up to three matrices over the same x.
// part: f32 [splits, count, all rows of the stack]; first_i: rows of the matrices before i; factor: of rows of f16 (include/f16_row.glsl);
// y_i: f32 [count, y_strides[i]].
// Grid: x = ceil(all rows / 128), y = count; 128 invocations, an element each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#define InputElements Words
#include "shaders/linear/arguments.h"

layout(local_size_x = 128) in;
layout(push_constant, std430) uniform Push { SumPartsArguments a; };

void main() {
    uint all_rows = a.rows[0] + a.rows[1] + a.rows[2];
    uint at = gl_GlobalInvocationID.x;
    uint c = gl_WorkGroupID.y;
    if (at >= all_rows)
        return;
    float sum = 0;
    for (uint s = 0; s < a.splits; ++s)
        sum += a.parts.v[(s * a.count + c) * all_rows + at];
    Floats y = a.y[0];
    Floats bias = a.bias[0];
    uint row = at;
    uint stride = a.y_strides[0];
    uint biased = linear_bias_0;
    if (row >= a.rows[0]) {
        row -= a.rows[0];
        y = a.y[1];
        bias = a.bias[1];
        stride = a.y_strides[1];
        biased = linear_bias_1;
        if (row >= a.rows[1]) {
            row -= a.rows[1];
            y = a.y[2];
            bias = a.bias[2];
            stride = a.y_strides[2];
            biased = linear_bias_2;
        }
    }
    sum *= uintBitsToFloat(a.x.v[c * (a.columns / 2 + 4) + a.columns / 2]);
    if ((a.options & biased) != 0)
        sum += bias.v[row];
    if ((a.options & linear_add) != 0)
        sum += y.v[c * stride + row];
    y.v[c * stride + row] = sum;
}
