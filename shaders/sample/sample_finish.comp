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
#include "shaders/sample/select.glsl"

layout(push_constant, std430) uniform Push { SampleArguments a; };

shared uint ids[candidates_max];
shared float logits[candidates_max];
shared float weights[candidates_max]; // exp(logit - largest)
shared float heated[candidates_max];  // at the row's temperature

// Index into the candidates. They are in descending order, so each filter keeps a prefix.
uint draw(SampleInfo info) {
    uint count = clamp(info.top_k, 1, a.candidates);
    float all = 0;
    for (uint i = 0; i < count; ++i)
        all += weights[i];
    float mass = 0;
    for (uint i = 0; i < count; ++i) {
        mass += weights[i];
        if (mass >= info.top_p * all) {
            count = i + 1;
            break;
        }
    }
    while (count > 1 && weights[count - 1] < info.min_p)
        --count;
    float total = 0;
    for (uint i = 0; i < count; ++i)
        total += heated[i];
    float target = uniform_number(info.seed, info.position) * total;
    mass = 0;
    for (uint i = 0; i < count; ++i) {
        mass += heated[i];
        if (mass > target)
            return i;
    }
    return count - 1;
}

// Candidate n of the row's chunk c.
Logit candidate(uint from, uint c, uint n) {
    uint at = from + c * (4 + 2 * a.candidates) + 4 + 2 * n;
    return Logit(uintBitsToFloat(a.partials.v[at + 1]), a.partials.v[at]);
}

// The number of all candidates that precede one, or a.candidates if there are as many or more.
uint rank_of_all(uint from, Logit one) {
    uint rank = 0;
    for (uint c = 0; c < a.chunks && rank < a.candidates; ++c)
        for (uint n = 0; n < a.candidates && precedes(candidate(from, c, n), one); ++n)
            ++rank;
    return min(rank, a.candidates);
}

void keep(uint rank, Logit one) {
    if (rank < a.candidates) {
        ids[rank] = one.id;
        logits[rank] = one.value;
    }
}

// The `candidates` largest of the chunks' candidates. A cell is one of the first candidates of a chunk: as many of each as all chunks
// together need.
void merge_candidates(uint from) {
    uint t = gl_LocalInvocationID.x;
    uint chunk_cells = (a.candidates + a.chunks - 1) / a.chunks;
    uint cell_count = a.chunks * chunk_cells;
    for (uint i = t; i < cell_count; i += WORKGROUP)
        cells[i] = candidate(from, i / chunk_cells, i % chunk_cells);
    barrier();
    find_bound(cell_count, a.candidates);
    barrier();
    for (uint c = t; c < a.chunks; c += WORKGROUP)
        for (uint n = 0; n < a.candidates; ++n)
            if (!list(candidate(from, c, n)))
                break;
    barrier();
    if (listed_count <= listed_max) {
        for (uint i = t; i < listed_count; i += WORKGROUP)
            keep(rank_in_list(listed[i]), listed[i]);
    } else { // some chunks have nearly all of the largest logits
        for (uint c = t; c < a.chunks; c += WORKGROUP) {
            uint rank = 0;
            for (uint n = 0; n < a.candidates && rank < a.candidates; ++n) { // ranks of a chunk's candidates ascend
                Logit one = candidate(from, c, n);
                rank = rank_of_all(from, one);
                keep(rank, one);
            }
        }
    }
    barrier();
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
    merge_candidates(from);
    SampleInfo info = a.infos.v[row];
    for (uint i = t; i < a.candidates; i += WORKGROUP) {
        weights[i] = exp(logits[i] - logits[0]);
        heated[i] = exp((logits[i] - logits[0]) / info.temperature);
    }
    barrier();
    if (t != 0)
        return;

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
