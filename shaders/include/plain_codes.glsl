// Elements of f32, f16 and bf16 rows, stored contiguously.
#if FORMAT == FORMAT_f32
const uint word_elements = 1;
#else
const uint word_elements = 2; // the first in the low half
#endif

// Words that a row of `blocks` x 32 elements takes.
uint weight_words(uint blocks) { return blocks * 32 / word_elements; }

vec2 decode_word(uint word) {
#if FORMAT == FORMAT_f32
    return vec2(uintBitsToFloat(word), 0);
#elif FORMAT == FORMAT_f16
    return unpackHalf2x16(word);
#else
    return vec2(uintBitsToFloat(word << 16), uintBitsToFloat(word & 0xFFFF0000u));
#endif
}

// Elements [8 eight, 8 eight + 8) of block `block` of a row that starts at word `at`, words `stride` apart.
void load_eight(Words weights, uint at, uint stride, uint blocks, uint block, uint eight, out vec4 codes[2]) {
    uint first = at + (block * 32 + eight * 8) / word_elements * stride;
#if FORMAT == FORMAT_f32
    for (uint i = 0; i < 8; ++i)
        codes[i / 4][i % 4] = decode_word(weights.v[first + i * stride]).x;
#else
    for (uint i = 0; i < 2; ++i)
        codes[i] = vec4(decode_word(weights.v[first + 2 * i * stride]), decode_word(weights.v[first + (2 * i + 1) * stride]));
#endif
}

// A unit is one 16-byte load; rows arrangement only.
const uint unit_vectors = word_elements;
void load_unit(Quads quads, Words words, uint at, uint blocks, uint unit, out vec4 codes[unit_vectors]) {
    uvec4 quad = quads.v[at / 4 + unit];
#if FORMAT == FORMAT_f32
    codes[0] = uintBitsToFloat(quad);
#else
    codes[0] = vec4(decode_word(quad.x), decode_word(quad.y));
    codes[1] = vec4(decode_word(quad.z), decode_word(quad.w));
#endif
}
