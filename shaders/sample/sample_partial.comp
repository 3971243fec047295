// Per row and chunk of 1024 logits: largest m, sum of exp(logit - m), whether any is NaN, and the `candidates` largest
// logits in descending order, smaller id first among equals.
// logits: f32 [rows, logits_stride]; partials: see arguments.h. Grid: x = chunks, y = rows; WORKGROUP invocations.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/sample/sample_info.glsl"
#include "shaders/sample/arguments.h"

const uint own_logits = chunk_logits / WORKGROUP;
layout(push_constant, std430) uniform Push { SampleArguments a; };

void main() {
    uint t = gl_LocalInvocationID.x;
    uint row = gl_WorkGroupID.y;
    uint first = gl_WorkGroupID.x * chunk_logits;
    uint to = (row * a.chunks + gl_WorkGroupID.x) * (4 + 2 * a.candidates);

    float own[own_logits];
    float largest = minus_infinity;
    float bad = 0;
    for (uint i = 0; i < own_logits; ++i) {
        uint id = first + i * WORKGROUP + t;
        float logit = minus_infinity;
        if (id < a.vocabulary)
            logit = a.logits.v[row * a.logits_stride + id];
        if ((floatBitsToUint(logit) & 0x7FFFFFFFu) > 0x7F800000u) { // NaN, tested by its bits
            bad = 1;
            logit = minus_infinity;
        }
        own[i] = logit;
        largest = max(largest, logit);
    }
    largest = workgroup_max(largest);
    bad = workgroup_max(bad);
    float sum = 0;
    for (uint i = 0; i < own_logits; ++i)
        sum += own[i] == minus_infinity ? 0.0 : exp(own[i] - largest);
    sum = workgroup_sum(sum);
    if (t == 0) {
        a.partials.v[to] = floatBitsToUint(largest);
        a.partials.v[to + 1] = floatBitsToUint(sum);
        a.partials.v[to + 2] = uint(bad);
    }

    for (uint n = 0; n < a.candidates; ++n) {
        float best = minus_infinity;
        uint best_id = 0xFFFFFFFFu;
        for (uint i = 0; i < own_logits; ++i)
            if (own[i] > best) { // ids increase with i, so the first of equals has the smaller id
                best = own[i];
                best_id = first + i * WORKGROUP + t;
            }
        workgroup_best(best, best_id);
        for (uint i = 0; i < own_logits; ++i)
            if (first + i * WORKGROUP + t == best_id)
                own[i] = minus_infinity;
        if (t == 0) {
            a.partials.v[to + 4 + 2 * n] = best_id;
            a.partials.v[to + 5 + 2 * n] = floatBitsToUint(best);
        }
    }
}
