// Gated delta net (arXiv 2412.06464), the rows of each sequence in order. Per value head, with its key head's k and q:
//   k = k / sqrt(k.k + length_epsilon), q = q / sqrt(q.q + length_epsilon) / sqrt(KEY_DIM)
//   alpha = exp(decay softplus(a + dt_bias)), beta = 1 / (1 + exp(-b))
//   d = beta (v - alpha S k),  S = alpha S + d k',  o = S q
// qkv: f32 [rows, q | k | v]; a, b: f32 [rows, stride], the column of head h as in gate_column(); o: f32 [rows, value heads x
// VALUE_DIM]; decay, dt_bias: f32 [value heads].
// state: f32 [slots, value heads, VALUE_DIM, KEY_DIM]. pending: f32 [slots, 2 halves, pending_rows_max, k | d / |k| | alpha].
// The state in memory precedes the last step's rows: the accepted ones are applied to it first, by the operations that they
// had as new rows, and it is stored. The new rows then change it in registers only, unless they are committed.
// Grid: x = value heads x ceil(VALUE_DIM / delta_values), y = sequences. `lanes` neighbouring invocations share one value, a
// row of S: each has every lanes-th key.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/sequences.h"
#include "shaders/delta/arguments.h"
#include "shaders/delta/softplus.glsl"

const uint lanes = 8;
const uint workgroup = lanes * delta_values;
layout(local_size_x = 128) in; // workgroup
layout(constant_id = 0) const uint KEY_DIM = 128;
layout(constant_id = 1) const uint VALUE_DIM = 128;
layout(constant_id = 2) const uint TILED = 0; // key head of value head h: 0: h / (value heads / key heads), 1: h % key heads
const uint own_keys = (KEY_DIM + lanes - 1) / lanes;
const uint head_groups = (VALUE_DIM + delta_values - 1) / delta_values;
layout(push_constant, std430) uniform Push { DeltaNetArguments a; };

const uint sum_count = 5;
shared float partials[2 * sum_count * workgroup];

// This invocation's part of S and of a row.
float s[own_keys];
float k[own_keys];
float q[own_keys];

uint lane() { return gl_LocalInvocationID.x % lanes; }
uint value_head() { return gl_WorkGroupID.x / head_groups; }
uint heads_per_key() { return a.value_heads / a.key_heads; }
uint key_head() { return TILED != 0 ? value_head() % a.key_heads : value_head() / heads_per_key(); }
bool is_first_of_key_head() { return TILED != 0 ? value_head() < a.key_heads : value_head() % heads_per_key() == 0; }

// The invocations behind the last value repeat it, and store nothing.
uint own_value() { return gl_WorkGroupID.x % head_groups * delta_values + gl_LocalInvocationID.x / lanes; }
bool is_value() { return own_value() < VALUE_DIM; }
uint head_value() { return value_head() * VALUE_DIM + min(own_value(), VALUE_DIM - 1); }

// Heads come in runs of `run`, each followed by as many columns of the other gate when both come from one matrix.
uint gate_column(uint first) { return first + value_head() / a.gate_run * 2 * a.gate_run + value_head() % a.gate_run; }

uint key_of(uint i) { return i * lanes + lane(); }
uint state_at(uint slot) { return (slot * a.value_heads * VALUE_DIM + head_value()) * KEY_DIM; }

uint kept_values() { return a.key_heads * KEY_DIM; } // within a pending row
uint kept_alphas() { return kept_values() + a.value_heads * VALUE_DIM; }
uint pending_at(uint slot, uint parity, uint n) {
    return ((slot * 2 + parity) * pending_rows_max + n) * (kept_alphas() + a.value_heads);
}

void load_state(SequenceInfo sequence) {
    bool is_new = sequence.position == sequence.accepted; // nothing has been committed
    [[unroll]] for (uint i = 0; i < own_keys; ++i)
        s[i] = !is_new && key_of(i) < KEY_DIM ? a.state.v[state_at(sequence.slot) + key_of(i)] : 0.0;
}

void store_state(SequenceInfo sequence) {
    [[unroll]] for (uint i = 0; i < own_keys; ++i)
        if (is_value() && key_of(i) < KEY_DIM)
            a.state.v[state_at(sequence.slot) + key_of(i)] = s[i];
}

// S = alpha S + factor k'
void advance(float alpha, float factor) {
    [[unroll]] for (uint i = 0; i < own_keys; ++i)
        s[i] = fma(k[i], factor, alpha * s[i]);
}

void apply_pending(SequenceInfo sequence, uint n) {
    uint at = pending_at(sequence.slot, (sequence.flags & pending_parity) != 0 ? 1 : 0, n);
    [[unroll]] for (uint i = 0; i < own_keys; ++i)
        k[i] = key_of(i) < KEY_DIM ? a.pending.v[at + key_head() * KEY_DIM + key_of(i)] : 0.0;
    advance(a.pending.v[at + kept_alphas() + value_head()], a.pending.v[at + kept_values() + head_value()]);
}

void keep_pending(SequenceInfo sequence, uint n, float alpha, float factor) {
    uint at = pending_at(sequence.slot, (sequence.flags & pending_parity) != 0 ? 0 : 1, n);
    bool is_first_value = own_value() == 0;
    [[unroll]] for (uint i = 0; i < own_keys; ++i)
        if (is_first_value && is_first_of_key_head() && key_of(i) < KEY_DIM)
            a.pending.v[at + key_head() * KEY_DIM + key_of(i)] = k[i];
    if (lane() == 0 && is_value())
        a.pending.v[at + kept_values() + head_value()] = factor;
    if (lane() == 0 && is_first_value)
        a.pending.v[at + kept_alphas() + value_head()] = alpha;
}

// Sums over the invocations of a value. Successive calls use both halves of `partials`, so that one barrier suffices.
void sum_over_lanes(inout float sums[sum_count], uint call) {
    uint t = gl_LocalInvocationID.x;
    uint from = call % 2 * sum_count * workgroup;
    for (uint i = 0; i < sum_count; ++i)
        partials[from + i * workgroup + t] = sums[i];
    barrier();
    for (uint i = 0; i < sum_count; ++i) {
        sums[i] = 0;
        for (uint other = 0; other < lanes; ++other)
            sums[i] += partials[from + i * workgroup + t / lanes * lanes + other];
    }
}

void load_row(uint row) {
    uint from = row * a.qkv_stride + key_head() * KEY_DIM;
    [[unroll]] for (uint i = 0; i < own_keys; ++i) {
        bool is_key = key_of(i) < KEY_DIM;
        q[i] = is_key ? a.qkv.v[from + key_of(i)] : 0.0;
        k[i] = is_key ? a.qkv.v[from + a.key_heads * KEY_DIM + key_of(i)] : 0.0;
    }
}

// One new row: its output, and S after it.
void compute_row(SequenceInfo sequence, uint n) {
    uint row = sequence.first_row + n;
    load_row(row);
    float v = a.qkv.v[row * a.qkv_stride + 2 * a.key_heads * KEY_DIM + head_value()];
    float alpha = exp(a.decay.v[value_head()] *
                      softplus(a.a.v[row * a.a_stride + gate_column(a.a_first)] + a.dt_bias.v[value_head()]));
    float beta = 1 / (1 + exp(-a.b.v[row * a.b_stride + gate_column(a.b_first)]));

    float sums[sum_count] = float[](0, 0, 0, 0, 0); // S k, S q, k.k, q.q, k.q
    [[unroll]] for (uint i = 0; i < own_keys; ++i) {
        sums[0] = fma(s[i], k[i], sums[0]);
        sums[1] = fma(s[i], q[i], sums[1]);
        sums[2] = fma(k[i], k[i], sums[2]);
        sums[3] = fma(q[i], q[i], sums[3]);
        sums[4] = fma(k[i], q[i], sums[4]);
    }
    sum_over_lanes(sums, n);
    float k_factor = inversesqrt(sums[2] + a.length_epsilon);
    float q_factor = inversesqrt(sums[3] + a.length_epsilon) * inversesqrt(float(KEY_DIM));
    float d = beta * fma(-alpha, sums[0] * k_factor, v);
    float factor = d * k_factor; // the raw k stays as it is
    // (alpha S + d k') q, from sums over the S before this row
    float o = fma(sums[4] * q_factor, factor, alpha * (sums[1] * q_factor));
    advance(alpha, factor);
    if (lane() == 0 && is_value())
        a.o.v[row * a.o_stride + head_value()] = o;
    if ((sequence.flags & commit_rows) == 0)
        keep_pending(sequence, n, alpha, factor);
}

void main() {
    SequenceInfo sequence = sequence_at(a.sequences, gl_WorkGroupID.y, a.slots, a.rows);
    bool commits = (sequence.flags & commit_rows) != 0 && sequence.row_count > 0;
    load_state(sequence);
    for (uint n = 0; n < sequence.accepted; ++n)
        apply_pending(sequence, n);
    if (sequence.accepted > 0 && !commits)
        store_state(sequence);
    for (uint n = 0; n < sequence.row_count; ++n)
        compute_row(sequence, n);
    if (commits)
        store_state(sequence);
}
