// The choices of a row from the values in `left`, by a workgroup with reduce.glsl, for push constants `a` with expert_count,
// experts_per_token, experts and routing_weights: the `experts_per_token` largest, the smaller id first among equals, and
// routing_weights[i] = exp(r_i) / sum_j exp(r_j) over them: their softmax over all experts scaled to the sum 1 (arXiv 2505.09388).
// Without NORMALISED the sum is over all experts of the row (arXiv 2407.10671).
// At most 1024 experts, 32 per token.
#define MINUS_INFINITY uintBitsToFloat(0xFF800000u)
shared float left[1024]; // not chosen yet
shared float chosen[32];

void choose(uint r) {
    uint t = gl_LocalInvocationID.x;
    for (uint i = 0; i < a.experts_per_token; ++i) {
        barrier();
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
            chosen[i] = best;
            a.experts.v[r * a.experts_per_token + i] = id;
        }
    }
    barrier();
    float sum = 0;
    if (NORMALISED == 0) {
        for (uint e = t; e < a.expert_count; e += WORKGROUP)
            sum += exp(left[e] - chosen[0]); // 0 of those chosen
        sum = workgroup_sum(sum);
    }
    if (t != 0)
        return;
    for (uint i = 0; i < a.experts_per_token; ++i)
        sum += exp(chosen[i] - chosen[0]);
    for (uint i = 0; i < a.experts_per_token; ++i)
        a.routing_weights.v[r * a.experts_per_token + i] = exp(chosen[i] - chosen[0]) / sum;
}
