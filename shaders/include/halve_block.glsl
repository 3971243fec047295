// Blocks of halves, and with WITH_CODES of codes (halves.glsl), 64 lanes each, four neighbouring elements a lane. Needs HALVED_BLOCKS: blocks
// that a workgroup makes at once, 64 consecutive lanes each. Whole workgroups call halve_block(); lanes of a block agree in `is_stored`.
#ifndef WITH_CODES
#define WITH_CODES false
#endif
shared uint block_largest[HALVED_BLOCKS]; // bits of the largest magnitude; these sort like the values, NaN last
shared vec2 block_quarter_sums[HALVED_BLOCKS * 64]; // of halves, and weighted as nibbles need them

shared uint block_four_codes[WITH_CODES ? HALVED_BLOCKS * 64 : 1];
shared float block_code_quarter_sums[WITH_CODES ? HALVED_BLOCKS * 64 : 1];

// The codes of a block, whose largest magnitude is in block_largest.
void code_block(vec4 x, bool is_stored, Words words, Floats floats, uint at) {
    uint lane = gl_LocalInvocationID.x % 64;
    uint first = gl_LocalInvocationID.x - lane;
    float largest = uintBitsToFloat(block_largest[first / 64]);
    float inverse = largest > 1e-36 ? 127 / largest : 0; // finite; NaN and infinity make scales that propagate
    vec4 rounded = clamp(roundEven(x * inverse), -127, 127);
    ivec4 codes = ivec4(rounded) & 0xFF;
    block_four_codes[first + lane] = uint(codes.x | codes.y << 8 | codes.z << 16 | codes.w << 24);
    block_code_quarter_sums[first + lane] = (rounded.x + rounded.y) + (rounded.z + rounded.w);
    barrier();
    if (!is_stored)
        return;
    uint low = block_four_codes[first + (lane & ~1u)]; // e0 to e3
    uint high = block_four_codes[first + (lane | 1)];
    uint from = lane % 2 * 16;
    words.v[at + block_codes / 4 + lane] = bitfieldExtract(low, int(from), 8) | bitfieldExtract(high, int(from), 8) << 8 |
                                           bitfieldExtract(low, int(from + 8), 8) << 16 |
                                           bitfieldExtract(high, int(from + 8), 8) << 24;
    if (lane == 0)
        floats.v[at + block_code_scale / 4] = largest / 127;
    if (lane < 16) {
        float sum = 0;
        [[unroll]] for (uint i = 0; i < 4; ++i)
            sum += block_code_quarter_sums[first + lane * 4 + i];
        floats.v[at + block_code_sums / 4 + lane] = sum;
    }
}

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
    if (WITH_CODES)
        code_block(x, is_stored, words, floats, at);
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
