// y[y_first + i] (=|+=) x[r] / sqrt(mean(x[r]^2) + epsilon) * weight, r = indices[i] or x_first + i. arXiv 1910.07467.
// x: f32 [rows, x_stride], y: f32 [rows, y_stride], weight: f32 [columns]; strides are multiples of 4.
// With HALVES y is also written as blocks of halves (include/halves.glsl), for columns a multiple of 256; WORKGROUP is one of 64.
// nan_probes[r]: the first probe that saw x[r] with a sum of squares that is not finite, or NO_NAN_PROBE.
// A row is y groups of `columns` elements, each normalised with the same weight; with more than one, columns is a multiple of 4.
// Grid: x = rows, y = groups; WORKGROUP invocations share one row, four neighbouring elements at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/nan_probe.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/halves.glsl"
layout(constant_id = 2) const uint HALVES = 0; // 2: with codes
#define WITH_CODES (HALVES == 2)
#define HALVED_BLOCKS (HALVES != 0 && WORKGROUP > 64 ? WORKGROUP / 64 : 1)
#include "shaders/include/halve_block.glsl"
#include "shaders/norm/arguments.h"

layout(push_constant, std430) uniform Push { RmsNormArguments a; };

void record_probe(uint row, bool is_bad) {
    if (a.nan_probe == 0)
        a.nan_probes.v[row] = is_bad ? 0 : NO_NAN_PROBE;
    else if (is_bad && a.nan_probes.v[row] == NO_NAN_PROBE)
        a.nan_probes.v[row] = a.nan_probe;
}

// Elements [4 k, 4 k + 4) of x; zeros after the last column.
vec4 input_at(uint from, uint k) {
    if (4 * k + 4 <= a.columns)
        return a.x.v[from + k];
    vec4 x = vec4(0);
    for (uint e = 0; 4 * k + e < a.columns; ++e)
        x[e] = a.x.v[from + k][e];
    return x;
}

vec4 store_at(uint to, uint k, vec4 x) {
    vec4 y = x;
    if (4 * k + 4 <= a.columns) {
        y = x * a.weight.v[k];
        if (a.add != 0)
            y += a.y.v[to + k];
        y *= a.factor;
        if (a.use_scale != 0)
            y *= a.scale.v[0];
        a.y.v[to + k] = y;
        return y;
    }
    float scale = a.use_scale != 0 ? a.factor * a.scale.v[0] : a.factor;
    for (uint e = 0; 4 * k + e < a.columns; ++e)
        a.y.v[to + k][e] = scale * ((a.add != 0 ? a.y.v[to + k][e] : 0.0) + x[e] * a.weight.v[k][e]);
    return y;
}

void main() {
    uint i = gl_WorkGroupID.x;
    uint r = a.use_indices != 0 ? min(a.indices.v[i], a.x_rows - 1) : a.x_first + i;
    uint group_at = gl_WorkGroupID.y * (a.columns / 4);
    uint from = r * (a.x_stride / 4) + group_at;
    uint to = (a.y_first + i) * (a.y_stride / 4) + group_at;
    uint quads = (a.columns + 3) / 4;

    float squares = 0;
    for (uint k = gl_LocalInvocationID.x; k < quads; k += WORKGROUP) {
        vec4 x = input_at(from, k);
        squares = fma(x.x, x.x, fma(x.y, x.y, fma(x.z, x.z, fma(x.w, x.w, squares))));
    }
    squares = workgroup_sum(squares);
    if (a.nan_probe != NO_NAN_PROBE && gl_LocalInvocationID.x == 0)
        record_probe(r, !is_finite(squares));
    float factor = inversesqrt(squares / float(a.columns) + a.epsilon);
    if (HALVES == 0) {
        for (uint k = gl_LocalInvocationID.x; k < quads; k += WORKGROUP)
            store_at(to, k, input_at(from, k) * factor);
        return;
    }
    for (uint first = 0; first < quads; first += WORKGROUP) {
        uint k = first + gl_LocalInvocationID.x;
        vec4 y = vec4(0);
        if (k < quads)
            y = store_at(to, k, input_at(from, k) * factor);
        uint block = (a.y_first + i) * (a.columns / 256) + k / 64;
        halve_block(y, k < quads, a.words, a.floats, block * block_bytes / 4);
    }
}
