// y[row][h] = sum_j p_j V_j, p = softmax over j of (scale q[row][h] . K_j), j in [attend_begin, attend_end) of the row, as in
// attention.comp, with its soft cap and sinks: decode rows over a cache in f16, with heads of 64, 128 or 256.
// q, y: f32 [rows, heads x HEAD_DIM]; sinks: f32 [heads]; cache as in include/cache.glsl; partials, counters: see arguments.h.
// Grid: x = query heads / HEADS, y = rows, z = kv_splits. WORKGROUP invocations serve HEADS query heads that share a kv head.
//   K and V: invocation t loads the dimensions 8 (t % CHUNKS) to + 7 of the keys t / CHUNKS + j KEYS, j < LOADS. All loads of
//   a tile (two pages) are issued before the first one is used.
//   scores: the partial sums of CHUNKS invocations are added up in shared memory; two barriers a tile.
//   softmax: the keys of equal t / CHUNKS are a stripe. Each stripe has its own online softmax (arXiv 1805.02867); the stripes are
//   merged once, after the last tile.
// A KV split is a tile if a row has up to KV_SPLITS_MAX of them, else the smallest sufficient power of two of tiles. The workgroup
// that finishes last merges the partials of a row in order; no workgroup waits for another.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/rows.h"
#include "shaders/include/soft_cap.glsl"
#include "shaders/include/half.glsl"
#include "shaders/include/halves.glsl"
#include "shaders/attention/arguments.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint WORKGROUP = 128; // 128, 256
layout(constant_id = 4) const uint HALVES = 0;      // 1: y is also written as blocks of halves; OUTPUTS is a multiple of 256
#define HALVED_BLOCKS (HALVES != 0 ? WORKGROUP / 64 : 1)
#include "shaders/include/halve_block.glsl"
layout(constant_id = 1) const uint HEAD_DIM = 128;  // 64, 128, 256
layout(constant_id = 2) const uint HEADS = 4;       // 1, 2, 4; HEADS x HEAD_DIM is at most 4 WORKGROUP
layout(constant_id = 3) const uint SINKS = 0;
layout(push_constant, std430) uniform Push { AttentionDecodeArguments a; };

const uint TILE = 2 * PAGE_TOKENS;
const uint KV_SPLITS_MAX = 64;                // with an aligned begin; else one more
const uint CHUNKS = HEAD_DIM / 8;             // loads of a position
const uint KEYS = WORKGROUP / CHUNKS;         // that the workgroup loads at once; also the number of stripes
const uint LOADS = TILE / KEYS;
const uint OUTPUTS = HEADS * HEAD_DIM;        // at most 4 for each invocation
const uint PARTIAL = HEAD_DIM / 4 + 1;        // vectors of a partial
const uint MERGED = 8;                        // partials that are loaded at once
const uint STATISTICS = (KV_SPLITS_MAX + MERGED) * HEADS; // of all partials, rounded up to MERGED
const float lowest = -3.402823466e38; // finite: the difference of two of them is not NaN

const uint PARTIAL_SCORES = TILE * CHUNKS * HEADS;
const uint STRIPE_SUMS = KEYS * OUTPUTS;

// [key][chunk][head], then [stripe][head][dimension]
shared float scratch[PARTIAL_SCORES > STRIPE_SUMS ? PARTIAL_SCORES : STRIPE_SUMS];
shared float scores[TILE * HEADS]; // [key][head]
shared float stripe_largest[KEYS * HEADS];
shared float stripe_total[KEYS * HEADS]; // of exp(score - largest)
shared uint finished_before;             // workgroups of the same row and heads

// Tokens of a row's KV splits, a function of the number of its keys alone.
uint kv_split_tokens(uint keys) { return TILE << uint(findMSB((keys - 1) / (TILE * KV_SPLITS_MAX)) + 1); }

uint partial_at(uint row, uint q_head, uint kv_split) {
    return ((row * a.q_heads + q_head) * a.kv_splits + kv_split) * PARTIAL;
}

// First loads of a tile's two pages. Positions that the row does not attend to may have no page: the page of the nearest
// one is loaded, and not used. As page_of(), but the loads from the table are issued together.
uvec2 page_starts(RowInfo row, uint tile, uint kv_head) {
    uvec2 positions = clamp(uvec2(tile, tile + PAGE_TOKENS), uvec2(row.attend_begin), uvec2(row.attend_end - 1));
    uvec2 numbers = positions / PAGE_TOKENS;
    uvec2 pages = row.first_page + numbers;
    if (row.first_page == NO_PAGE)
        pages = uvec2(a.tables.v[row.table + numbers.x], a.tables.v[row.table + numbers.y]);
    return (min(pages, uvec2(a.pages - 1)) * a.kv_heads + kv_head) * (PAGE_TOKENS * CHUNKS);
}

void unpack(uvec4 quad, out float x[8]) {
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        vec2 pair = unpackHalf2x16(quad[i]);
        x[2 * i] = pair.x;
        x[2 * i + 1] = pair.y;
    }
}

// The scores of a tile from the partial sums in scratch; `lowest` outside [begin, end).
void add_scores(uint tile, uint begin, uint end) {
    const uint turns = (TILE * HEADS + WORKGROUP - 1) / WORKGROUP;
    [[unroll]] for (uint turn = 0; turn < turns; ++turn) {
        uint i = turn * WORKGROUP + gl_LocalInvocationID.x;
        if (i >= TILE * HEADS)
            continue;
        uint key = i / HEADS;
        float sum = 0;
        [[unroll]] for (uint c = 0; c < CHUNKS; ++c) // rotated, so that neighbours read different banks
            sum += scratch[(key * CHUNKS + (c + key) % CHUNKS) * HEADS + i % HEADS];
        sum *= a.scale;
        if (a.softcap != 0)
            sum = soft_cap(sum, a.softcap);
        scores[i] = tile + key >= begin && tile + key < end ? sum : lowest;
    }
}

// Merges the stripes: four outputs of head g from index `at` on, not yet divided by the total.
vec4 merge_stripes(uint at, uint g, bool has_sink, float sink, out float largest, out float total) {
    largest = has_sink ? sink : lowest;
    [[unroll]] for (uint s = 0; s < KEYS; ++s)
        largest = max(largest, stripe_largest[s * HEADS + g]);
    total = has_sink ? exp(sink - largest) : 0;
    vec4 sum = vec4(0);
    [[unroll]] for (uint s = 0; s < KEYS; ++s) {
        float factor = exp(stripe_largest[s * HEADS + g] - largest);
        total = fma(factor, stripe_total[s * HEADS + g], total);
        [[unroll]] for (uint e = 0; e < 4; ++e)
            sum[e] = fma(factor, scratch[s * OUTPUTS + at + e], sum[e]);
    }
    return sum;
}

// Writes the largest score and the total of each partial to scratch, [kv_split][head][2]; those after the last have no weight.
void load_statistics(uint r, uint first_head, uint kv_splits) {
    const uint turns = (STATISTICS + WORKGROUP - 1) / WORKGROUP;
    [[unroll]] for (uint turn = 0; turn < turns; ++turn) {
        uint i = turn * WORKGROUP + gl_LocalInvocationID.x;
        if (i >= STATISTICS)
            continue;
        vec2 statistics = vec2(lowest, 0);
        if (i / HEADS < kv_splits)
            statistics = a.partials.v[partial_at(r, first_head + i % HEADS, i / HEADS) + HEAD_DIM / 4].xy;
        scratch[2 * i] = statistics.x;
        scratch[2 * i + 1] = statistics.y;
    }
}

// Merges the partials of head first_head + g, whose statistics are in scratch: four outputs from dimension d on.
vec4 merge_partials(uint r, uint first_head, uint g, uint d, uint kv_splits) {
    float largest = lowest;
    for (uint first = 0; first < kv_splits; first += MERGED) {
        [[unroll]] for (uint i = 0; i < MERGED; ++i)
            largest = max(largest, scratch[2 * ((first + i) * HEADS + g)]);
    }
    float total = 0;
    vec4 sum = vec4(0);
    for (uint first = 0; first < kv_splits; first += MERGED) {
        vec4 partial[MERGED];
        [[unroll]] for (uint i = 0; i < MERGED; ++i)
            partial[i] = a.partials.v[partial_at(r, first_head + g, min(first + i, kv_splits - 1)) + d / 4];
        [[unroll]] for (uint i = 0; i < MERGED; ++i) {
            uint at = 2 * ((first + i) * HEADS + g);
            float factor = first + i < kv_splits ? exp(scratch[at] - largest) : 0;
            total = fma(factor, scratch[at + 1], total);
            sum = fma(vec4(factor), partial[i], sum);
        }
    }
    return sum / total;
}

// Stores four outputs of each invocation, from index `at` on. Called by whole workgroups.
void store_outputs(uint r, uint first_head, uint at, vec4 y) {
    bool is_output = at < OUTPUTS;
    if (is_output)
        a.y.v[r * a.y_stride + (first_head * HEAD_DIM + at) / 4] = y;
    if (HALVES != 0) {
        uint block = (r * a.q_heads + first_head) * HEAD_DIM / 256 + gl_LocalInvocationID.x / 64;
        halve_block(is_output ? y : vec4(0), is_output, a.words, a.floats, block * block_bytes / 4);
    }
}

void main() {
    uint t = gl_LocalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    uint kv_split = gl_WorkGroupID.z; // of the row
    RowInfo row = a.rows.v[r];
    uint split_tokens = kv_split_tokens(row.attend_end - row.attend_begin);
    uint first_split = row.attend_begin / split_tokens;
    uint kv_splits = min((row.attend_end - 1) / split_tokens - first_split + 1, a.kv_splits);
    if (kv_split >= kv_splits)
        return;
    uint first_head = gl_WorkGroupID.x * HEADS;
    uint kv_head = first_head / (a.q_heads / a.kv_heads);
    uint begin = max(row.attend_begin, (first_split + kv_split) * split_tokens);
    uint end = min(row.attend_end, (first_split + kv_split + 1) * split_tokens);
    uint chunk = t % CHUNKS;
    uint stripe = t / CHUNKS;

    float q[HEADS][8];
    float sums[HEADS][8];
    float largest[HEADS];
    float total[HEADS];
    [[unroll]] for (uint g = 0; g < HEADS; ++g) {
        uint at = r * a.q_stride + (first_head + g) * (HEAD_DIM / 4) + 2 * chunk;
        [[unroll]] for (uint e = 0; e < 4; ++e) {
            q[g][e] = a.q.v[at][e];
            q[g][4 + e] = a.q.v[at + 1][e];
        }
        [[unroll]] for (uint e = 0; e < 8; ++e)
            sums[g][e] = 0;
        largest[g] = lowest;
        total[g] = 0;
    }

    for (uint tile = begin / TILE * TILE; tile < end; tile += TILE) {
        uvec2 start = page_starts(row, tile, kv_head);
        uvec4 k[LOADS];
        uvec4 v[LOADS];
        [[unroll]] for (uint j = 0; j < LOADS; ++j)
            k[j] = a.keys.v[start[j / (LOADS / 2)] + j % (LOADS / 2) * WORKGROUP + t];
        [[unroll]] for (uint j = 0; j < LOADS; ++j)
            v[j] = a.values.v[start[j / (LOADS / 2)] + j % (LOADS / 2) * WORKGROUP + t];

        [[unroll]] for (uint j = 0; j < LOADS; ++j) {
            float key[8];
            unpack(k[j], key);
            [[unroll]] for (uint g = 0; g < HEADS; ++g) {
                float sum = 0;
                [[unroll]] for (uint e = 0; e < 8; ++e)
                    sum = fma(q[g][e], key[e], sum);
                scratch[(j * WORKGROUP + t) * HEADS + g] = sum;
            }
        }
        barrier();
        add_scores(tile, begin, end);
        barrier();

        float weights[LOADS][HEADS]; // scores, then exp(score - largest)
        [[unroll]] for (uint g = 0; g < HEADS; ++g) {
            float now = largest[g];
            [[unroll]] for (uint j = 0; j < LOADS; ++j) {
                weights[j][g] = scores[(j * KEYS + stripe) * HEADS + g];
                now = max(now, weights[j][g]);
            }
            float shrink = exp(largest[g] - now);
            largest[g] = now;
            total[g] *= shrink;
            [[unroll]] for (uint e = 0; e < 8; ++e)
                sums[g][e] *= shrink;
        }
        [[unroll]] for (uint j = 0; j < LOADS; ++j) {
            uint position = tile + j * KEYS + stripe;
            bool attended = position >= begin && position < end;
            float value[8];
            unpack(attended ? v[j] : uvec4(0), value); // an unwritten value may be NaN
            [[unroll]] for (uint g = 0; g < HEADS; ++g) {
                float weight = attended ? exp(weights[j][g] - largest[g]) : 0;
                total[g] += weight;
                [[unroll]] for (uint e = 0; e < 8; ++e)
                    sums[g][e] = fma(weight, value[e], sums[g][e]);
            }
        }
    }

    [[unroll]] for (uint g = 0; g < HEADS; ++g) {
        [[unroll]] for (uint e = 0; e < 8; ++e)
            scratch[stripe * OUTPUTS + g * HEAD_DIM + chunk * 8 + e] = sums[g][e];
        if (chunk == 0) {
            stripe_largest[stripe * HEADS + g] = largest[g];
            stripe_total[stripe * HEADS + g] = total[g];
        }
    }
    barrier();

    uint at = 4 * t; // of OUTPUTS
    uint g = at / HEAD_DIM;
    uint d = at % HEAD_DIM;
    vec4 y = vec4(0);
    if (at < OUTPUTS) {
        bool has_sink = SINKS != 0 && kv_split == 0; // the other splits would count it again
        float sink = has_sink ? a.sinks.v[first_head + g] : 0;
        float largest_score;
        float total_weight;
        vec4 sum = merge_stripes(at, g, has_sink, sink, largest_score, total_weight);
        if (kv_splits == 1) {
            y = sum / total_weight;
        } else {
            uint partial = partial_at(r, first_head + g, kv_split);
            a.partials.v[partial + d / 4] = sum;
            if (d == 0)
                a.partials.v[partial + HEAD_DIM / 4] = vec4(largest_score, total_weight, 0, 0);
        }
    }
    if (kv_splits == 1) {
        store_outputs(r, first_head, at, y);
        return;
    }

    memoryBarrierBuffer();
    barrier();
    uint counter = r * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (t == 0)
        finished_before = atomicAdd(a.counters.v[counter], 1);
    barrier();
    if (finished_before != kv_splits - 1)
        return;
    memoryBarrierBuffer();
    if (t == 0)
        a.counters.v[counter] = 0;
    load_statistics(r, first_head, kv_splits);
    barrier();
    if (at < OUTPUTS)
        y = merge_partials(r, first_head, g, d, kv_splits);
    store_outputs(r, first_head, at, y);
}
