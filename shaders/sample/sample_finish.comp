// Per row: log-sum-exp over the vocabulary, the `candidates` largest logits of all chunks in descending
// order, and one token:
// the largest at temperature 0, else a draw after top-k, top-p, min-p, temperature (sampling::Parameters).
// partials: [rows, chunks] lists, results: [rows, 132] words, both as arguments.h says. Grid: x = rows;
// WORKGROUP invocations.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/reduce.glsl"
#include "shaders/include/nan_probe.glsl"
#include "shaders/sample/sample_info.glsl"
#include "shaders/sample/arguments.h"
#include "shaders/sample/philox.glsl"

layout(push_constant, std430) uniform Push { SampleArguments a; };

shared uint taken[chunks_max]; // candidates already taken from each chunk's list
shared uint ids[candidates_max];
shared float logits[candidates_max];

// Index into the candidates. They are in descending order, so each filter keeps a prefix.
uint draw(SampleInfo info) {
    uint count = clamp(info.top_k, 1, a.candidates);
    float all = 0;
    for (uint i = 0; i < count; ++i)
        all += exp(logits[i] - logits[0]);
    float mass = 0;
    for (uint i = 0; i < count; ++i) {
        mass += exp(logits[i] - logits[0]);
        if (mass >= info.top_p * all) {
            count = i + 1;
            break;
        }
    }
    while (count > 1 && exp(logits[count - 1] - logits[0]) < info.min_p)
        --count;
    float heated = 0;
    for (uint i = 0; i < count; ++i)
        heated += exp((logits[i] - logits[0]) / info.temperature);
    float target = uniform_number(info.seed, info.position) * heated;
    mass = 0;
    for (uint i = 0; i < count; ++i) {
        mass += exp((logits[i] - logits[0]) / info.temperature);
        if (mass > target)
            return i;
    }
    return count - 1;
}

void merge_candidates(uint from, uint list_words) {
    for (uint n = 0; n < a.candidates; ++n) {
        float best = minus_infinity;
        uint best_id = 0xFFFFFFFFu;
        uint best_chunk = 0;
        for (uint c = gl_LocalInvocationID.x; c < a.chunks; c += WORKGROUP) {
            if (taken[c] >= a.candidates)
                continue;
            uint at = from + c * list_words + 4 + 2 * taken[c];
            uint id = a.partials.v[at];
            float logit = uintBitsToFloat(a.partials.v[at + 1]);
            if (logit > best || (logit == best && id < best_id)) {
                best = logit;
                best_id = id;
                best_chunk = c;
            }
        }
        uint own_id = best_id;
        workgroup_best(best, best_id);
        if (own_id == best_id && best_id != 0xFFFFFFFFu)
            ++taken[best_chunk];
        if (gl_LocalInvocationID.x == 0) {
            ids[n] = best_id;
            logits[n] = best;
        }
    }
}

// The first NaN probe that fired in any row of the step: rows that attend to a bad row are bad too.
uint first_nan_probe() {
    uint first = NO_NAN_PROBE;
    for (uint r = 0; r < a.nan_probe_rows; ++r)
        first = min(first, a.nan_probes.v[r]);
    return first;
}

void main() {
    uint t = gl_LocalInvocationID.x;
    uint row = gl_WorkGroupID.x;
    uint list_words = 4 + 2 * a.candidates;
    uint from = row * a.chunks * list_words;

    float largest = minus_infinity;
    float bad = 0;
    for (uint c = t; c < a.chunks; c += WORKGROUP) {
        largest = max(largest, uintBitsToFloat(a.partials.v[from + c * list_words]));
        bad = max(bad, float(a.partials.v[from + c * list_words + 2]));
        taken[c] = 0;
    }
    largest = workgroup_max(largest);
    bad = workgroup_max(bad);
    float sum = 0;
    for (uint c = t; c < a.chunks; c += WORKGROUP) {
        float chunk_sum = uintBitsToFloat(a.partials.v[from + c * list_words + 1]);
        if (chunk_sum > 0)
            sum = fma(chunk_sum, exp(uintBitsToFloat(a.partials.v[from + c * list_words]) - largest), sum);
    }
    sum = workgroup_sum(sum);
    merge_candidates(from, list_words);
    if (t != 0)
        return;

    SampleInfo info = a.infos.v[row];
    uint chosen = info.temperature == 0 ? 0 : draw(info);
    uint token = min(ids[chosen], a.vocabulary - 1);
    uint to = row * result_words;
    a.results.v[to] = token;
    a.results.v[to + 1] = floatBitsToUint(logits[chosen]);
    a.results.v[to + 2] = floatBitsToUint(largest + log(sum));
    a.results.v[to + 3] = bad > 0 ? 1 + first_nan_probe() : 0;
    for (uint n = 0; n < a.candidates; ++n) {
        a.results.v[to + 4 + 2 * n] = ids[n];
        a.results.v[to + 5 + 2 * n] = floatBitsToUint(logits[n]);
    }
    if (info.slot < a.slot_count)
        a.slots.v[info.slot] = token;
}
