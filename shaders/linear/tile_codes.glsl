// Codes of a tile as pairs of f16, by bits: 0x6400 | c is 1024 + c, 0x5400 | c << 4 is 64 + c. The offset is subtracted from
// the sum of products (offset_of_run).

// Masks that compilers cannot fold, so that they stay in registers: NVIDIA's LOP3 takes one immediate operand.
uint nibble_mask;
uint byte_mask;
// `small` is below 2^31.
void set_masks(uint small) {
    uint zero = small >> 31;
    nibble_mask = 0x000F000Fu | zero;
    byte_mask = 0x00FF00FFu | zero;
}

#ifndef ZERO
#define ZERO 0
#endif

#if LOW_BITS == 8
const uint byte_flip = 0x00800080u; // signed codes as codes of 128 + c
const float byte_offset = 1024 + 128;
#else
const uint byte_flip = 0;
const float byte_offset = 1024 + ZERO;
#endif
#if LOW_BITS == 4 && HIGH_BITS == 0 && !defined(LEVELS)
#define NIBBLES
#endif

// The share of the codes' offsets in the sum of products of 16 elements; `sum` and `nibble_sum` are the block's (halves.glsl).
float offset_of_run(float sum, float nibble_sum) {
#if defined(LEVELS)
    return 0;
#elif defined(NIBBLES)
    return ZERO == 0 ? nibble_sum : fma(float(ZERO), sum, nibble_sum);
#else
    return byte_offset * sum;
#endif
}

f16vec2 halves_of(uint word) {
    uint bits = byte_flip == 0 ? (word & byte_mask) | 0x64006400u : (word & byte_mask) ^ (0x64006400u | byte_flip);
    return unpackFloat2x16(bits);
}

// Eight codes, one a byte: (e0 e4 e1 e5) (e2 e6 e3 e7).
void pairs_of_bytes(uint first, uint second, out f16vec2 w[4]) {
    w[0] = halves_of(first);
    w[1] = halves_of(second);
    w[2] = halves_of(first >> 8);
    w[3] = halves_of(second >> 8);
}

// Eight codes of four bits in that order, the second word's above the first's.
void pairs_of_nibbles(uint word, out f16vec2 w[4]) {
    uint upper = nibble_mask << 4;
    w[0] = unpackFloat2x16((word & nibble_mask) | 0x64006400u);
    w[1] = unpackFloat2x16((word & upper) | 0x54005400u);
    w[2] = unpackFloat2x16(((word >> 8) & nibble_mask) | 0x64006400u);
    w[3] = unpackFloat2x16(((word >> 8) & upper) | 0x54005400u);
}

#ifdef LEVELS
shared uint level_pairs[256]; // two f16, of the lower and the upper four bits of a byte

void fill_levels() {
    for (uint i = gl_LocalInvocationID.x; i < 256; i += WORKGROUP) {
        vec4 levels = decode_codes((i & 15) | (i & 0xF0) << 4);
        level_pairs[i] = packFloat2x16(f16vec2(levels.xy));
    }
    barrier();
}

void pairs_of_levels(uint word, out f16vec2 w[4]) {
    [[unroll]] for (uint i = 0; i < 4; ++i)
        w[i] = unpackFloat2x16(level_pairs[bitfieldExtract(word, int(8 * i), 8)]);
}
#endif

#ifndef PLAIN
// The words of a chunk of 64 elements: low plane, high plane.
struct Codes {
    uvec4 low[LOW_BITS / 2];
    uvec4 high;
};

// Pairs of elements [16 run, 16 run + 16) of a chunk.
void pairs_of_run(Codes codes, uint run, out f16vec2 w[2][4]) {
    [[unroll]] for (uint i = 0; i < 2; ++i) {
        uint eight = 2 * run + i; // of the chunk
#if defined(LEVELS)
        pairs_of_levels(codes.low[eight / 4][eight % 4], w[i]);
#elif defined(NIBBLES)
        pairs_of_nibbles(codes.low[eight / 4][eight % 4], w[i]);
#else
#if LOW_BITS == 8
        uvec2 bytes = uvec2(codes.low[eight / 2][eight % 2 * 2], codes.low[eight / 2][eight % 2 * 2 + 1]);
#elif LOW_BITS == 4
        uint low = codes.low[eight / 4][eight % 4];
        uvec2 bytes = uvec2(low, low >> 4) & 0x0F0F0F0Fu;
#else
        uint low = codes.low[0][eight / 2] >> (4 * (eight % 2));
        uvec2 bytes = uvec2(low, low >> 2) & 0x03030303u;
#endif
#if HIGH_BITS == 1
        uint high = codes.high[eight / 4] >> (2 * (eight % 4));
        bytes |= (uvec2(high, high >> 1) & 0x01010101u) << LOW_BITS;
#elif HIGH_BITS == 2
        uint high = codes.high[eight / 2] >> (4 * (eight % 2));
        bytes |= (uvec2(high, high >> 2) & 0x03030303u) << LOW_BITS;
#endif
        pairs_of_bytes(bytes.x, bytes.y, w[i]);
#endif
    }
}
#endif
