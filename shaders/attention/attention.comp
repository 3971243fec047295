// y[row][h] = sum_j p_j V_j, p = softmax over j of (scale q[row][h] . K_j), j in [attend_begin, attend_end) of the row;
// with softcap each score s is softcap tanh(s / softcap) first; online softmax in tiles of one page (arXiv 1805.02867, 2205.14135).
// With SINKS the softmax is over one more score, sinks[h] as it is, whose value is zero (arXiv 2309.17453): it adds
// exp(sinks[h]) to the denominator.
// q: f32 [rows, heads x HEAD_DIM]; y: f32 [rows, heads x VALUE_DIM]; sinks: f32 [heads]; cache as in include/cache.glsl. Values are the
// first VALUE_DIM elements of positions of HEAD_DIM: with a latent (kernels::LayerCache) those of the keys.
// Grid: x = kv_heads x (query heads per kv head / HEADS), y = rows, z = kv_splits. WORKGROUP invocations serve HEADS query
// heads that share a kv head, so that each key and value is read once for all of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/rows.h"
#include "shaders/include/soft_cap.glsl"
#include "shaders/attention/arguments.h"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint HEAD_DIM = 64;
layout(constant_id = 2) const uint HEADS = 1;
layout(constant_id = 3) const uint KEYS_FORMAT = 1;
layout(constant_id = 4) const uint VALUES_FORMAT = 1;
layout(constant_id = 5) const uint SINKS = 0;
layout(constant_id = 6) const uint VALUE_DIM = 64; // at most HEAD_DIM
#include "shaders/include/cache.glsl"
const uint value_stride = (VALUE_DIM + 7) / 8 * 8;
const uint value_pairs = value_stride / 2;
const uint own_pairs = (HEADS * value_pairs + WORKGROUP - 1) / WORKGROUP; // outputs of one invocation, in pairs
// Wide heads: an invocation's scores are of one key, and its outputs of the same elements of every head, so that it loads
// keys and values once for all of them. The order of sums is the same.
const uint remainders = value_pairs % WORKGROUP + WORKGROUP % PAGE_TOKENS + HEADS * PAGE_TOKENS % WORKGROUP;
const uint WIDE = (VALUE_DIM >= 512 ? 1 : 0) * (remainders == 0 ? 1 : 0);
const uint own_scores = (HEADS * PAGE_TOKENS + WORKGROUP - 1) / WORKGROUP;
const uint own_columns = (value_pairs + WORKGROUP - 1) / WORKGROUP; // of a head
layout(push_constant, std430) uniform Push { AttentionArguments a; };
#include "shaders/attention/kv_splits.glsl"

shared float q_heads[HEADS * head_stride];
shared float weights[HEADS * PAGE_TOKENS]; // scores, then exp(score - largest)
shared float largest[HEADS];
shared float total[HEADS];
shared float shrink[HEADS]; // exp(old largest - new largest)

// q . K at a position, eight elements at a time.
float score(uint head, uint piece, uint position) {
    float sum = 0;
    for (uint d = 0; d < head_stride; d += 8) {
        vec4 low;
        vec4 high;
        load_eight(a.keys, KEYS_FORMAT, piece, position, d, low, high);
        [[unroll]] for (uint e = 0; e < 4; ++e)
            sum = fma(q_heads[head * head_stride + d + e], low[e], sum);
        [[unroll]] for (uint e = 0; e < 4; ++e)
            sum = fma(q_heads[head * head_stride + d + 4 + e], high[e], sum);
    }
    return a.softcap != 0 ? soft_cap(sum * a.scale, a.softcap) : sum * a.scale;
}

// The scores of wide heads at a position: of every WORKGROUP / PAGE_TOKENS-th head from `first` on.
void wide_scores(uint first, uint piece, uint position, bool is_attended) {
    const uint step = WORKGROUP / PAGE_TOKENS;
    float sums[own_scores];
    [[unroll]] for (uint i = 0; i < own_scores; ++i)
        sums[i] = 0;
    for (uint d = 0; is_attended && d < head_stride; d += 8) {
        vec4 low;
        vec4 high;
        load_eight(a.keys, KEYS_FORMAT, piece, position, d, low, high);
        [[unroll]] for (uint i = 0; i < own_scores; ++i) {
            uint at = (first + i * step) * head_stride + d;
            [[unroll]] for (uint e = 0; e < 4; ++e)
                sums[i] = fma(q_heads[at + e], low[e], sums[i]);
            [[unroll]] for (uint e = 0; e < 4; ++e)
                sums[i] = fma(q_heads[at + 4 + e], high[e], sums[i]);
        }
    }
    [[unroll]] for (uint i = 0; i < own_scores; ++i) {
        float scaled = a.softcap != 0 ? soft_cap(sums[i] * a.scale, a.softcap) : sums[i] * a.scale;
        weights[(first + i * step) * PAGE_TOKENS + position] = is_attended ? scaled : uintBitsToFloat(0xFF800000u);
    }
}

void main() {
    uint t = gl_LocalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    RowInfo row = a.rows.v[r];
    uint kv_split = first_kv_split(row) + gl_WorkGroupID.z;
    if (kv_split > last_kv_split(row))
        return;
    uint parts = a.q_heads / a.kv_heads / HEADS;
    uint kv_head = gl_WorkGroupID.x / parts;
    uint first_head = kv_head * (a.q_heads / a.kv_heads) + gl_WorkGroupID.x % parts * HEADS;

    for (uint i = t; i < HEADS * head_stride; i += WORKGROUP) {
        uint d = i % head_stride;
        q_heads[i] = d < HEAD_DIM ? a.q.v[r * a.q_stride + (first_head + i / head_stride) * HEAD_DIM + d] : 0.0;
    }
    bool has_sink = SINKS != 0 && kv_split == first_kv_split(row); // the others would count it again
    for (uint h = t; h < HEADS; h += WORKGROUP) {
        largest[h] = uintBitsToFloat(0xFF800000u);
        total[h] = 0;
        if (has_sink) {
            largest[h] = a.sinks.v[first_head + h];
            total[h] = 1; // exp(sink - largest)
        }
    }
    vec2 sums[own_pairs];
    [[unroll]] for (uint i = 0; i < own_pairs; ++i)
        sums[i] = vec2(0);

    uint begin = max(row.attend_begin, kv_split * a.kv_split_tokens);
    uint end = row.attend_end;
    if (kv_split < last_kv_split(row))
        end = (kv_split + 1) * a.kv_split_tokens;
    for (uint tile = begin / PAGE_TOKENS * PAGE_TOKENS; tile < end; tile += PAGE_TOKENS) {
        uint page = page_of(row, a.tables, tile, a.pages);
        uint keys_piece = piece_at(KEYS_FORMAT, page, a.kv_heads, kv_head);
        uint values_piece = piece_at(VALUES_FORMAT, page, a.kv_heads, kv_head);
        uint from = max(begin, tile) - tile; // keys [from, to) of the tile count
        uint to = min(end - tile, PAGE_TOKENS);
        barrier();
        if (WIDE != 0)
            wide_scores(t / PAGE_TOKENS, keys_piece, t % PAGE_TOKENS, t % PAGE_TOKENS >= from && t % PAGE_TOKENS < to);
        for (uint i = t; WIDE == 0 && i < HEADS * PAGE_TOKENS; i += WORKGROUP) {
            uint j = i % PAGE_TOKENS;
            weights[i] = j >= from && j < to ? score(i / PAGE_TOKENS, keys_piece, j) : uintBitsToFloat(0xFF800000u);
        }
        barrier();
        for (uint h = t; h < HEADS; h += WORKGROUP) {
            float now = largest[h];
            for (uint j = from; j < to; ++j)
                now = max(now, weights[h * PAGE_TOKENS + j]);
            shrink[h] = exp(largest[h] - now);
            largest[h] = now;
        }
        barrier();
        for (uint i = t; i < HEADS * PAGE_TOKENS; i += WORKGROUP)
            weights[i] = exp(weights[i] - largest[i / PAGE_TOKENS]);
        barrier();
        for (uint h = t; h < HEADS; h += WORKGROUP) {
            float sum = total[h] * shrink[h];
            for (uint j = from; j < to; ++j)
                sum += weights[h * PAGE_TOKENS + j];
            total[h] = sum;
        }
        if (WIDE != 0) {
            [[unroll]] for (uint i = 0; i < own_pairs; ++i)
                sums[i] *= shrink[i / own_columns];
            for (uint j = from; j < to; ++j)
                [[unroll]] for (uint c = 0; c < own_columns; ++c) {
                    vec2 value = load_pair(a.values, VALUES_FORMAT, values_piece, j, t + c * WORKGROUP);
                    [[unroll]] for (uint h = 0; h < HEADS; ++h)
                        sums[h * own_columns + c] = fma(vec2(weights[h * PAGE_TOKENS + j]), value, sums[h * own_columns + c]);
                }
        }
        [[unroll]] for (uint i = 0; i < own_pairs; ++i) {
            uint pair = t + i * WORKGROUP;
            if (WIDE == 0 && pair < HEADS * value_pairs) {
                uint h = pair / value_pairs;
                vec2 sum = sums[i] * shrink[h];
                for (uint j = from; j < to; ++j) {
                    vec2 value = load_pair(a.values, VALUES_FORMAT, values_piece, j, pair % value_pairs);
                    sum = fma(vec2(weights[h * PAGE_TOKENS + j]), value, sum);
                }
                sums[i] = sum;
            }
        }
    }
    barrier();

    bool is_single = first_kv_split(row) == last_kv_split(row);
    [[unroll]] for (uint i = 0; i < own_pairs; ++i) {
        uint pair = t + i * WORKGROUP;
        if (pair >= HEADS * value_pairs)
            continue;
        uint h = pair / value_pairs;
        uint d = pair % value_pairs * 2;
        if (is_single) {
            uint at = r * a.y_stride + (first_head + h) * VALUE_DIM + d;
            if (d < VALUE_DIM) {
                a.y.v[at] = sums[i].x / total[h];
                a.y.v[at + 1] = sums[i].y / total[h];
            }
        } else {
            uint at = partial_at(r, first_head + h, kv_split - first_kv_split(row)) + d;
            a.partials.v[at] = sums[i].x;
            a.partials.v[at + 1] = sums[i].y;
        }
    }
    if (!is_single)
        for (uint h = t; h < HEADS; h += WORKGROUP) {
            uint at = partial_at(r, first_head + h, kv_split - first_kv_split(row)) + value_stride;
            a.partials.v[at] = largest[h];
            a.partials.v[at + 1] = total[h];
        }
}
