// The choices of row r by a workgroup with reduce.glsl, for push constants `a` with router, router_stride, selection_bias,
// expert_count, experts_per_token, experts, routing_weights, scale and expert_scales: the `experts_per_token` largest, the smaller id
// first among equals.
//   Softmax: the largest r_i, and routing_weights[i] = scale exp(r_i) / sum_j exp(r_j) over them: their softmax over all experts
//   scaled to the sum 1 (arXiv 2505.09388). Without NORMALISED the sum is over all experts of the row (arXiv 2407.10671).
//   SIGMOID: s_i = 1 / (1 + exp(-r_i)), the largest s_i, with BIASED the largest s_i + selection_bias[i], and routing_weights[i] =
//   scale s_i / max(sum_j s_j, 2^-14) over them (arXiv 2412.19437); without NORMALISED scale s_i.
//   SCALED: routing_weights[i] is also multiplied by expert_scales[experts[i]].
// At most 1024 experts, 32 per token.
#define MINUS_INFINITY uintBitsToFloat(0xFF800000u)
shared float left[1024]; // not chosen yet
shared float chosen[32];

float score(uint r, uint e) {
    float value = a.router.v[r * a.router_stride + e];
    return SIGMOID != 0 ? 1 / (1 + exp(-value)) : value;
}

// The largest in `left` becomes choice i of row r.
void take_best(uint r, uint i) {
    uint t = gl_LocalInvocationID.x;
    float best = MINUS_INFINITY;
    uint id = a.expert_count - 1;
    for (uint e = t; e < a.expert_count; e += WORKGROUP)
        if (left[e] > best) {
            best = left[e];
            id = e;
        }
    workgroup_best(best, id);
    id = min(id, a.expert_count - 1); // no value is largest if all are NaN
    barrier();
    if (t == 0) {
        left[id] = MINUS_INFINITY;
        chosen[i] = SIGMOID != 0 ? score(r, id) : best;
        a.experts.v[r * a.experts_per_token + i] = id;
    }
}

// What the chosen values are divided by; of invocation 0.
float chosen_sum() {
    uint t = gl_LocalInvocationID.x;
    float sum = 0;
    if (SIGMOID == 0 && NORMALISED == 0) {
        for (uint e = t; e < a.expert_count; e += WORKGROUP)
            sum += exp(left[e] - chosen[0]); // 0 of those chosen
        sum = workgroup_sum(sum);
    }
    if (SIGMOID != 0 && NORMALISED == 0)
        return 1;
    if (t == 0)
        for (uint i = 0; i < a.experts_per_token; ++i)
            sum += SIGMOID != 0 ? chosen[i] : exp(chosen[i] - chosen[0]);
    return SIGMOID != 0 && sum < 6.103515625e-5 ? 6.103515625e-5 : sum;
}

void choose(uint r) {
    uint t = gl_LocalInvocationID.x;
    for (uint e = t; e < a.expert_count; e += WORKGROUP)
        left[e] = BIASED != 0 ? score(r, e) + a.selection_bias.v[e] : score(r, e);
    for (uint i = 0; i < a.experts_per_token; ++i) {
        barrier();
        take_best(r, i);
    }
    barrier();
    float sum = chosen_sum();
    if (t != 0)
        return;
    for (uint i = 0; i < a.experts_per_token; ++i) {
        float value = SIGMOID != 0 ? chosen[i] : exp(chosen[i] - chosen[0]);
        uint at = r * a.experts_per_token + i;
        float scale = SCALED != 0 ? a.scale * a.expert_scales.v[a.experts.v[at]] : a.scale;
        a.routing_weights.v[at] = scale * (value / sum);
    }
}
