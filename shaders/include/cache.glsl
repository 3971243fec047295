// The paged cache of a layer's keys or values, in words: [page][kv_head] pieces of PAGE_TOKENS positions of
// head_stride elements each (head_dim rounded up to 8 with zero padding, so that loads of eight elements
// stay inside a position).
//   f32: an element is a word; f16: two elements are a word
//   q8_0: x = scale x code: [PAGE_TOKENS][head_stride] codes of 8 bits, then [PAGE_TOKENS][scale_words]
//         scales in f16, two a word, one for each 32 elements of a position
// Needs HEAD_DIM.
const uint CACHE_F32 = 0;
const uint CACHE_F16 = 1;
const uint CACHE_Q8_0 = 2;

const uint head_stride = (HEAD_DIM + 7) / 8 * 8;
const uint scale_words = (head_stride + 63) / 64;

uint position_words(uint format) {
    return format == CACHE_F32 ? head_stride : format == CACHE_F16 ? head_stride / 2 : head_stride / 4;
}

// First word of a piece.
uint piece_at(uint format, uint page, uint kv_heads, uint kv_head) {
    uint words = PAGE_TOKENS * (position_words(format) + (format == CACHE_Q8_0 ? scale_words : 0));
    return (page * kv_heads + kv_head) * words;
}

// Word of a position's first scale, in a q8_0 piece.
uint scales_at(uint piece, uint position) { return piece + PAGE_TOKENS * (head_stride / 4) + position * scale_words; }

vec4 codes_of(uint word) {
    ivec4 bytes = ivec4(word << 24, word << 16, word << 8, word) >> 24;
    return vec4(bytes);
}

// Eight elements of a position, from element d, a multiple of 8.
void load_eight(Quads cache, uint format, uint piece, uint position, uint d, out vec4 low, out vec4 high) {
    uint at = piece + position * position_words(format);
    if (format == CACHE_F32) {
        low = uintBitsToFloat(cache.v[(at + d) / 4]);
        high = uintBitsToFloat(cache.v[(at + d) / 4 + 1]);
    } else if (format == CACHE_F16) {
        uvec4 quad = cache.v[(at + d / 2) / 4];
        low = vec4(unpackHalf2x16(quad.x), unpackHalf2x16(quad.y));
        high = vec4(unpackHalf2x16(quad.z), unpackHalf2x16(quad.w));
    } else {
        uint word = at + d / 4;
        uvec4 quad = cache.v[word / 4];
        uvec2 codes = (word & 2) == 0 ? quad.xy : quad.zw;
        uint scale_word = scales_at(piece, position) + d / 64;
        float scale = unpackHalf2x16(cache.v[scale_word / 4][scale_word % 4])[d / 32 % 2];
        low = scale * codes_of(codes.x);
        high = scale * codes_of(codes.y);
    }
}

// Elements 2 pair and 2 pair + 1 of a position.
vec2 load_pair(Words cache, uint format, uint piece, uint position, uint pair) {
    uint at = piece + position * position_words(format);
    if (format == CACHE_F32)
        return vec2(uintBitsToFloat(cache.v[at + 2 * pair]), uintBitsToFloat(cache.v[at + 2 * pair + 1]));
    if (format == CACHE_F16)
        return unpackHalf2x16(cache.v[at + pair]);
    vec4 codes = codes_of(cache.v[at + pair / 2]);
    float scale = unpackHalf2x16(cache.v[scales_at(piece, position) + pair / 32])[pair / 16 % 2];
    return scale * ((pair & 1) == 0 ? codes.xy : codes.zw);
}
