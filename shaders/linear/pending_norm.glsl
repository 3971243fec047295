// Inputs whose norm is pending: their halves stand for x times the norm's weights, and squares has the sums of x^2 of 256 columns each,
// [column][tile], both from fused_linear.comp. A product with them is multiplied by norm_factor().
#include "shaders/include/nan_probe.glsl"

const uint square_lanes = 64; // at most WORKGROUP
shared float square_sums[COLUMNS * square_lanes];

// This lane's part of the sums, loaded before the walk over the tiles, so that nothing waits for it.
void load_squares(bool pending, Floats squares, uint first_column, uint count, uint tiles, out float parts[COLUMNS]) {
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
        parts[c] = 0;
    uint end = pending && gl_LocalInvocationID.x < square_lanes ? tiles : 0;
    for (uint tile = gl_LocalInvocationID.x; tile < end; tile += square_lanes)
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
            parts[c] += squares.v[min(first_column + c, count - 1) * tiles + tile];
}

// Shares the parts with the workgroup. A barrier follows.
void share_squares(float parts[COLUMNS]) {
    if (gl_LocalInvocationID.x < square_lanes)
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
            square_sums[c * square_lanes + gl_LocalInvocationID.x] = parts[c];
}

// 1 / sqrt(mean(x^2) + epsilon) of column c of the workgroup, or 1; NaN if the sum is not finite, so that it propagates to the logits.
float norm_factor(bool pending, uint c, uint tiles, float epsilon) {
    if (!pending)
        return 1;
    float sum = 0;
    for (uint i = 0; i < min(tiles, square_lanes); ++i)
        sum += square_sums[c * square_lanes + i];
    return is_finite(sum) ? inversesqrt(sum / float(tiles * 256) + epsilon) : uintBitsToFloat(0x7FC00000u);
}
