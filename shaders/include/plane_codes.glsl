// Codes of quantised rows. A row is its low plane, LOW_BITS words per block of 32 elements, then its high
// plane, HIGH_BITS words per block; each plane is padded to a multiple of four words. With `bits` of a plane, a
// word holds 8 / bits groups of four elements: group j of it takes bits [bits j, bits j + bits) of each
// byte. So one shift and one mask give four codes.
uint whole_quads(uint words) { return (words + 3) & ~3u; }
uint weight_words(uint blocks) { return whole_quads(blocks * LOW_BITS) + whole_quads(blocks * HIGH_BITS); }

// Four codes, one a byte, as numbers.
vec4 decode_codes(uint bytes) {
#if defined(LEVELS)
    vec4 levels;
    for (uint i = 0; i < 4; ++i) {
        uint code = bitfieldExtract(bytes, int(8 * i), 8);
        uint word = code < 8 ? (code < 4 ? LEVELS.x : LEVELS.y) : (code < 12 ? LEVELS.z : LEVELS.w);
        levels[i] = float(bitfieldExtract(int(word), int(8 * (code % 4)), 8));
    }
    return levels;
#elif defined(ZERO)
    return vec4(bytes & 0xFF, (bytes >> 8) & 0xFF, (bytes >> 16) & 0xFF, bytes >> 24) - float(ZERO);
#elif LOW_BITS == 8
    int word = int(bytes);
    return vec4(bitfieldExtract(word, 0, 8), bitfieldExtract(word, 8, 8), bitfieldExtract(word, 16, 8), word >> 24);
#else
    return vec4(bytes & 0xFF, (bytes >> 8) & 0xFF, (bytes >> 16) & 0xFF, bytes >> 24);
#endif
}

// Codes of eight elements, one a byte, from the words of the planes that hold them; `eight` is 0..3 in its
// block.
uvec2 eight_bytes(uint low, uint next_low, uint high, uint eight) {
#if LOW_BITS == 8
    uvec2 bytes = uvec2(low, next_low);
#elif LOW_BITS == 4
    uvec2 bytes = uvec2(low, low >> 4) & 0x0F0F0F0Fu;
#else
    low >>= 4 * (eight % 2);
    uvec2 bytes = uvec2(low, low >> 2) & 0x03030303u;
#endif
#if HIGH_BITS == 1
    high >>= 2 * eight;
    bytes |= (uvec2(high, high >> 1) & 0x01010101u) << LOW_BITS;
#elif HIGH_BITS == 2
    high >>= 4 * (eight % 2);
    bytes |= (uvec2(high, high >> 2) & 0x03030303u) << LOW_BITS;
#endif
    return bytes;
}

// Elements [8 eight, 8 eight + 8) of block `block` of a row that starts at word `at`, words `stride` apart.
void load_eight(Words weights, uint at, uint stride, uint blocks, uint block, uint eight, out vec4 codes[2]) {
    uint low_at = at + (block * LOW_BITS + eight * LOW_BITS / 4) * stride;
    uint low = weights.v[low_at];
    uint next_low = 0;
    uint high = 0;
#if LOW_BITS == 8
    next_low = weights.v[low_at + stride];
#endif
#if HIGH_BITS > 0
    high = weights.v[at + (whole_quads(blocks * LOW_BITS) + block * HIGH_BITS + eight * HIGH_BITS / 4) * stride];
#endif
    uvec2 bytes = eight_bytes(low, next_low, high, eight);
    codes[0] = decode_codes(bytes.x);
    codes[1] = decode_codes(bytes.y);
}

// A unit is one load of an invocation, 16 bytes if the block has that many: half a block of q8_0,
// else a block. Rows arrangement only.
#if LOW_BITS == 8
const uint unit_vectors = 4;
void load_unit(Quads quads, Words words, uint at, uint blocks, uint unit, out vec4 codes[unit_vectors]) {
    uvec4 quad = quads.v[at / 4 + unit];
    for (uint i = 0; i < 4; ++i)
        codes[i] = decode_codes(quad[i]);
}
#else
const uint unit_vectors = 8;
void load_unit(Quads quads, Words words, uint at, uint blocks, uint unit, out vec4 codes[unit_vectors]) {
#if LOW_BITS == 4
    uvec4 low = quads.v[at / 4 + unit];
#else
    uvec4 low = uvec2(words.v[at + unit * 2], words.v[at + unit * 2 + 1]).xxyy;
#endif
    uvec4 high = uvec4(0);
    uint high_at = at + whole_quads(blocks * LOW_BITS) + unit * HIGH_BITS;
#if HIGH_BITS == 1
    high = uvec4(words.v[high_at]);
#elif HIGH_BITS == 2
    high = uvec2(words.v[high_at], words.v[high_at + 1]).xxyy;
#endif
    for (uint eight = 0; eight < 4; ++eight) {
        uvec2 bytes = eight_bytes(low[eight], 0, high[eight], eight);
        codes[2 * eight] = decode_codes(bytes.x);
        codes[2 * eight + 1] = decode_codes(bytes.y);
    }
}
#endif
