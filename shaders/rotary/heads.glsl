// A head of q, k or v in shared memory: its norm, its rotation (arXiv 2104.09864), and its place in the cache. For whole workgroups.
//   normalise: x = x / sqrt(mean(x^2) + epsilon), times the weight if there is one
//   rotate: for each pair (i, j), (x_i, x_j) = (x_i cos - x_j sin, x_i sin + x_j cos)
// Needs include/half.glsl, include/nan_probe.glsl, workgroup_sum(), the constants of rotary_store.comp, and push constants `a` with members
// as in RotaryStoreArguments.
#include "shaders/include/cache.glsl"

shared float head[512];

void normalise(float epsilon) {
    float squares = 0;
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        squares = fma(head[d], head[d], squares);
    float factor = inversesqrt(workgroup_sum(squares) / float(HEAD_DIM) + epsilon);
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        head[d] *= factor;
}

void normalise(Floats weight, float epsilon) {
    normalise(epsilon);
    for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += WORKGROUP)
        head[d] *= weight.v[d];
}

// `row`: of the angles.
void rotate(uint row) {
    uint half_dims = a.rotated / 2;
    for (uint p = gl_LocalInvocationID.x; p < half_dims; p += WORKGROUP) {
        uint i = HALVES != 0 ? p : 2 * p;
        uint j = HALVES != 0 ? p + half_dims : 2 * p + 1;
        vec2 angle = a.angles.v[row * half_dims + p];
        float x = head[i];
        float y = head[j];
        head[i] = x * angle.x - y * angle.y;
        head[j] = x * angle.y + y * angle.x;
    }
}

// 1 + scale ln(1 + floor(position / tokens)): Llama 4's factor of a query.
float temperature(uint position) {
    uint periods = position / max(a.temperature_tokens, 1u);
    return a.temperature_scale != 0 && periods > 0 ? 1 + a.temperature_scale * log(1 + float(periods)) : 1;
}

const float half_max = 65504.0;

// Values that are not finite become NaN, so that they propagate to the logits.
float within_half(float x) { return is_finite(x) ? clamp(x, -half_max, half_max) : uintBitsToFloat(0x7FC00000u); }

// The scale of 32 elements of head[] as stored in the cache: the largest magnitude is code 127.
float block_scale(uint block) {
    float largest = 0;
    bool finite = true;
    for (uint d = block * 32; d < min(block * 32 + 32, head_stride); ++d) {
        largest = max(largest, abs(head[d]));
        finite = finite && is_finite(head[d]);
    }
    return finite ? unpackHalf2x16(pack_halves(vec2(min(largest / 127.0, half_max), 0))).x : uintBitsToFloat(0x7FC00000u);
}

uint code_of(float x, float scale) {
    float code = scale > 0 ? clamp(roundEven(x / scale), -127.0, 127.0) : 0.0;
    return uint(int(code)) & 0xFFu;
}

void store_q8_0(Words cache, uint piece, uint position) {
    for (uint w = gl_LocalInvocationID.x; w < head_stride / 4; w += WORKGROUP) {
        float scale = block_scale(w / 8);
        uint word = 0;
        for (uint e = 0; e < 4; ++e)
            word |= code_of(head[4 * w + e], scale) << 8 * e;
        cache.v[piece + position * (head_stride / 4) + w] = word;
    }
    for (uint w = gl_LocalInvocationID.x; w < position_scale_words; w += WORKGROUP)
        cache.v[scales_at(piece, position) + w] = pack_halves(vec2(block_scale(2 * w), block_scale(2 * w + 1)));
}

void store_cache(Words cache, uint format, uint page, uint kv_head, uint index) {
    uint piece = piece_at(format, page, a.kv_heads, kv_head);
    uint position = index % PAGE_TOKENS;
    uint first = piece + position * position_words(format);
    if (format == CACHE_F32) {
        for (uint d = gl_LocalInvocationID.x; d < head_stride; d += WORKGROUP)
            cache.v[first + d] = floatBitsToUint(head[d]);
    } else if (format == CACHE_F16) {
        for (uint w = gl_LocalInvocationID.x; w < head_stride / 2; w += WORKGROUP)
            cache.v[first + w] = pack_halves(vec2(within_half(head[2 * w]), within_half(head[2 * w + 1])));
    } else {
        store_q8_0(cache, piece, position);
    }
}
