// y[y_first + i] (=|+=) x[r] / sqrt(mean(x[r]^2) + epsilon) * weight, r = indices[i] or x_first + i. arXiv 1910.07467.
// x: f32 [rows, x_stride], y: f32 [rows, y_stride], weight: f32 [columns].
// nan_probes[r]: the first probe that saw x[r] with a sum of squares that is not finite, or NO_NAN_PROBE.
// Grid: x = rows; WORKGROUP invocations share one row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/nan_probe.glsl"
#include "shaders/norm/arguments.h"

layout(push_constant, std430) uniform Push { RmsNormArguments a; };

void record_probe(uint row, bool is_bad) {
    if (a.nan_probe == 0)
        a.nan_probes.v[row] = is_bad ? 0 : NO_NAN_PROBE;
    else if (is_bad && a.nan_probes.v[row] == NO_NAN_PROBE)
        a.nan_probes.v[row] = a.nan_probe;
}

void main() {
    uint i = gl_WorkGroupID.x;
    uint r = a.use_indices != 0 ? min(a.indices.v[i], a.x_rows - 1) : a.x_first + i;
    uint from = r * a.x_stride;
    uint to = (a.y_first + i) * a.y_stride;

    float squares = 0;
    for (uint k = gl_LocalInvocationID.x; k < a.columns; k += WORKGROUP)
        squares = fma(a.x.v[from + k], a.x.v[from + k], squares);
    squares = workgroup_sum(squares);
    if (a.nan_probe != NO_NAN_PROBE && gl_LocalInvocationID.x == 0)
        record_probe(r, !is_finite(squares));
    float factor = inversesqrt(squares / float(a.columns) + a.epsilon);
    for (uint k = gl_LocalInvocationID.x; k < a.columns; k += WORKGROUP)
        a.y.v[to + k] = (a.add != 0 ? a.y.v[to + k] : 0.0) + a.x.v[from + k] * factor * a.weight.v[k];
}
