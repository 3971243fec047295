// Blocks of halves (halves.glsl), 64 lanes each, four neighbouring elements a lane. Needs HALVED_BLOCKS: blocks that a workgroup makes at
// once, 64 consecutive lanes each. Whole workgroups call halve_block(); lanes of a block agree in `is_stored`.
shared uint block_largest[HALVED_BLOCKS]; // bits of the largest magnitude; these sort like the values, NaN last
shared vec2 block_quarter_sums[HALVED_BLOCKS * 64]; // of halves, and weighted as nibbles need them

// `words` and `floats`: the same memory, in which the block begins at word `at`.
void halve_block(vec4 x, bool is_stored, Words words, Floats floats, uint at) {
    uint slot = gl_LocalInvocationID.x / 64;
    uint lane = gl_LocalInvocationID.x % 64;
    barrier();
    if (lane == 0)
        block_largest[slot] = 0;
    barrier();
    uvec4 bits = floatBitsToUint(x) & 0x7FFFFFFFu;
    atomicMax(block_largest[slot], max(max(bits.x, bits.y), max(bits.z, bits.w)));
    barrier();
    // The power of two at or below the largest, away from the ends of the range so that it has an inverse.
    float factor = uintBitsToFloat(clamp(block_largest[slot] & 0x7F800000u, 0x01000000u, 0x7E000000u));
    x /= factor;
    uvec2 halves = uvec2(pack_halves(x.xy), pack_halves(x.zw));
    vec4 rounded = vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
    block_quarter_sums[gl_LocalInvocationID.x] =
        vec2((rounded.x + rounded.y) + (rounded.z + rounded.w), 1024 * (rounded.x + rounded.y) + 64 * (rounded.z + rounded.w));
    if (is_stored) {
        words.v[at + block_halves / 4 + lane * 2] = halves.x;
        words.v[at + block_halves / 4 + lane * 2 + 1] = halves.y;
        if (lane == 0)
            floats.v[at] = factor;
    }
    barrier();
    if (is_stored && lane < 16) {
        vec2 sum = vec2(0);
        [[unroll]] for (uint i = 0; i < 4; ++i)
            sum += block_quarter_sums[slot * 64 + lane * 4 + i];
        floats.v[at + block_sums / 4 + lane] = sum.x;
        floats.v[at + block_nibble_sums / 4 + lane] = sum.y;
    }
}
