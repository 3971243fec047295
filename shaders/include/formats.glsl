// Weight formats (core/kernels/layout.hpp). FORMAT is one of these.
#define FORMAT_f32 0
#define FORMAT_f16 1
#define FORMAT_bf16 2
#define FORMAT_q8 3
#define ARRANGEMENT_rows 0
#define ARRANGEMENT_lanes 1

// Elements in one 32-bit word, words in a block of 32 columns.
#if FORMAT == FORMAT_f32
const uint word_elements = 1;
#elif FORMAT == FORMAT_q8
const uint word_elements = 4;
#else
const uint word_elements = 2;
#endif
const uint block_words = 32 / word_elements;

// The elements of one word, without scale: f32 fills x; f16 and bf16 fill x, y; q8 fills all four.
vec4 decode_word(uint word) {
#if FORMAT == FORMAT_f32
    return vec4(uintBitsToFloat(word), 0, 0, 0);
#elif FORMAT == FORMAT_f16
    return vec4(unpackHalf2x16(word), 0, 0);
#elif FORMAT == FORMAT_bf16
    return vec4(uintBitsToFloat(word << 16), uintBitsToFloat(word & 0xFFFF0000u), 0, 0);
#else
    int bytes = int(word);
    return vec4(bitfieldExtract(bytes, 0, 8), bitfieldExtract(bytes, 8, 8), bitfieldExtract(bytes, 16, 8),
                bitfieldExtract(bytes, 24, 8));
#endif
}

// Four groups of four elements at most: one 16-byte load. quad_vectors tells how many are filled.
const uint quad_elements = 4 * word_elements;
const uint quad_vectors = word_elements;
void decode_quad(uvec4 quad, out vec4 elements[4]) {
    elements[1] = elements[2] = elements[3] = vec4(0);
#if FORMAT == FORMAT_f32
    elements[0] = uintBitsToFloat(quad);
#elif FORMAT == FORMAT_q8
    elements[0] = decode_word(quad.x);
    elements[1] = decode_word(quad.y);
    elements[2] = decode_word(quad.z);
    elements[3] = decode_word(quad.w);
#else
    elements[0] = vec4(decode_word(quad.x).xy, decode_word(quad.y).xy);
    elements[1] = vec4(decode_word(quad.z).xy, decode_word(quad.w).xy);
#endif
}

// Scale of a q8 block in rows arrangement: f16, two in a word, [row][block] counted through.
float row_scale(Words scales, uint block) {
    vec2 both = unpackHalf2x16(scales.v[block / 2]);
    return (block & 1) == 0 ? both.x : both.y;
}
