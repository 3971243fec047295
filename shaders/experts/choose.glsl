// The choices of row r by a workgroup with reduce.glsl, for push constants `a` with router, router_stride, selection_bias,
// expert_count, experts_per_token, groups, groups_used, experts, routing_weights and scale: the `experts_per_token` largest, the smaller id
// first among equals.
//   Softmax: the largest r_i, and routing_weights[i] = scale exp(r_i) / sum_j exp(r_j) over them: their softmax over all experts
//   scaled to the sum 1 (arXiv 2505.09388). Without NORMALISED the sum is over all experts of the row (arXiv 2407.10671).
//   SIGMOID: s_i = 1 / (1 + exp(-r_i)), the largest s_i, with BIASED the largest s_i + selection_bias[i], and routing_weights[i] =
//   scale s_i / max(sum_j s_j, 2^-14) over them (arXiv 2412.19437); without NORMALISED scale s_i.
//   GROUPED: the experts of the `groups_used` best of `groups` groups of neighbours alone are chosen from; a group is as good as its
//   largest r_i (arXiv 2405.04434), with SIGMOID as the sum of the two largest of its s_i + selection_bias[i] (arXiv 2412.19437).
// At most 1024 experts, 32 per token, 64 groups.
#define MINUS_INFINITY uintBitsToFloat(0xFF800000u)
shared float left[1024]; // not chosen yet
shared float chosen[32];
shared float group_scores[64];

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
float chosen_sum(uint r) {
    uint t = gl_LocalInvocationID.x;
    float sum = 0;
    if (SIGMOID == 0 && NORMALISED == 0) {
        for (uint e = t; e < a.expert_count; e += WORKGROUP)
            sum += exp((GROUPED != 0 ? score(r, e) : left[e]) - chosen[0]); // of `left` 0 if chosen
        sum = workgroup_sum(sum);
        if (GROUPED != 0)
            return sum;
    }
    if (SIGMOID != 0 && NORMALISED == 0)
        return 1;
    if (t == 0)
        for (uint i = 0; i < a.experts_per_token; ++i)
            sum += SIGMOID != 0 ? chosen[i] : exp(chosen[i] - chosen[0]);
    return SIGMOID != 0 && sum < 6.103515625e-5 ? 6.103515625e-5 : sum;
}

// Removes the experts of all groups but the best from `left`.
void keep_groups() {
    uint t = gl_LocalInvocationID.x;
    uint size = a.expert_count / a.groups;
    barrier();
    for (uint g = t; g < a.groups; g += WORKGROUP) {
        float first = MINUS_INFINITY;
        float second = MINUS_INFINITY;
        for (uint e = g * size; e < (g + 1) * size; ++e) {
            second = max(second, min(first, left[e]));
            first = max(first, left[e]);
        }
        group_scores[g] = SIGMOID != 0 && size > 1 ? first + second : first;
    }
    barrier();
    for (uint g = t; g < a.groups; g += WORKGROUP) {
        uint better = 0;
        for (uint other = 0; other < a.groups; ++other)
            better += group_scores[other] > group_scores[g] || (group_scores[other] == group_scores[g] && other < g) ? 1 : 0;
        if (better >= a.groups_used)
            for (uint e = g * size; e < (g + 1) * size; ++e)
                left[e] = MINUS_INFINITY;
    }
}

void choose(uint r) {
    uint t = gl_LocalInvocationID.x;
    for (uint e = t; e < a.expert_count; e += WORKGROUP)
        left[e] = BIASED != 0 ? score(r, e) + a.selection_bias.v[e] : score(r, e);
    if (GROUPED != 0)
        keep_groups();
    for (uint i = 0; i < a.experts_per_token; ++i) {
        barrier();
        take_best(r, i);
    }
    barrier();
    float sum = chosen_sum(r);
    if (t != 0)
        return;
    for (uint i = 0; i < a.experts_per_token; ++i) {
        float value = SIGMOID != 0 ? chosen[i] : exp(chosen[i] - chosen[0]);
        a.routing_weights.v[r * a.experts_per_token + i] = a.scale * (value / sum);
    }
}
