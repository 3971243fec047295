// Units of 32 neighbouring weights of a row in tiles (include/tiles.glsl), for kernels that decode tiles into shared memory. `tile` is the
// address of the tile's first byte plus 16 x row, `row` is 0..7, `unit` 0..7. Needs tile_words.glsl and tile_codes.glsl.
const uint unit_elements = 32;
const uint tile_units = 8; // of a row

#ifdef PLAIN
struct Unit {
    uvec4 quads[4];
};
Unit load_unit(uint64_t tile, uint unit) {
    Unit loaded;
    [[unroll]] for (uint i = 0; i < 4; ++i)
        loaded.quads[i] = quad_at(tile, 0, unit * 16 + 4 * i);
    return loaded;
}
#else
// The unit's words as the first ones of a chunk (tile_codes.glsl).
#if LOW_BITS == 8
#define UNIT_QUADS 2
#else
#define UNIT_QUADS 1
#endif
struct Unit {
    uvec4 low[UNIT_QUADS];
    uvec2 high;
};
Unit load_unit(uint64_t tile, uint unit) {
    Unit loaded;
#if LOW_BITS == 2
    loaded.low[0] = pair_at(tile, tile_low, unit * 2).xyxy;
#else
    [[unroll]] for (uint i = 0; i < UNIT_QUADS; ++i)
        loaded.low[i] = quad_at(tile, tile_low, unit * LOW_BITS + 4 * i);
#endif
#if HIGH_BITS == 1
    loaded.high = uvec2(word_at(tile, tile_high, unit));
#elif HIGH_BITS == 2
    loaded.high = pair_at(tile, tile_high, unit * 2);
#else
    loaded.high = uvec2(0);
#endif
    return loaded;
}
#endif

// The words with the scales of a batch of up to four units; the number of its first one is a multiple of their number.
struct UnitScales {
    uvec4 record;
    uint head;
};
UnitScales load_unit_scales(uint64_t tile, uint row, uint unit) {
    UnitScales loaded;
    loaded.record = uvec4(0);
    loaded.head = 0;
#if SCALES == SCALES_pair
    loaded.record = quad_at(tile, 0, unit / 4 * 4);
#elif SCALES == SCALES_half || SCALES == SCALES_bfloat || SCALES == SCALES_k_pairs || SCALES == SCALES_k_half_bytes
    loaded.record = quad_at(tile, 0, 0);
#elif SCALES == SCALES_k_signed && SUB_ELEMENTS == 16
    loaded.record = quad_at(tile, 0, 0);
#elif SCALES == SCALES_k_signed
    loaded.record.x = OneWord(tile - uint64_t(row * 8) + uint64_t(unit / 4 * 4)).v;
#endif
#if SCALES == SCALES_k_half_bytes
    loaded.head = OneWord(tile + uint64_t(tile_heads * 4) - uint64_t(row * 12)).v;
#elif SCALES == SCALES_k_signed
    loaded.head = OneWord(tile + uint64_t(tile_heads * 4) - uint64_t(row * 16) + uint64_t(row / 2 * 4)).v >> (row % 2 * 16);
#endif
    return loaded;
}

// Decoded weights are times `weight_spread`, so that the f16 of small scales are not subnormal.
#ifdef PLAIN
const float weight_spread = 1;
#else
const float weight_spread = 16;
#endif

// Scale and offset of elements [16 run, 16 run + 16) of a unit, times weight_spread.
vec2 unit_scale(UnitScales loaded, uint unit, uint run) {
#if SCALES == SCALES_half
    return vec2(unpackHalf2x16(loaded.record[unit / 2] >> (unit % 2 * 16)).x, 0) * weight_spread;
#elif SCALES == SCALES_bfloat
    return vec2(uintBitsToFloat(loaded.record[unit / 2] >> (unit % 2 * 16) << 16), 0) * weight_spread;
#elif SCALES == SCALES_pair
    return unpackHalf2x16(loaded.record[unit % 4]) * weight_spread;
#elif SCALES == SCALES_k_pairs
    uvec2 scales;
    uvec2 minima;
    six_bit_pairs(loaded.record, scales, minima);
    int shift = int(unit % 4 * 8);
    vec2 numbers = vec2(bitfieldExtract(unit < 4 ? scales.x : scales.y, shift, 8), bitfieldExtract(unit < 4 ? minima.x : minima.y, shift, 8));
    return unpackHalf2x16(loaded.record.x) * vec2(weight_spread, -weight_spread) * numbers;
#elif SCALES == SCALES_k_half_bytes
    uint one = loaded.record[unit / 2] >> (unit % 2 * 16 + run * 8);
    return unpackHalf2x16(loaded.head) * vec2(weight_spread, -weight_spread) * vec2(one & 0xF, (one >> 4) & 0xF);
#elif SCALES == SCALES_k_signed && SUB_ELEMENTS == 16
    int one = bitfieldExtract(int(loaded.record[unit / 2]), int(unit % 2 * 16 + run * 8), 8);
    return vec2(unpackHalf2x16(loaded.head).x * float(one), 0) * weight_spread;
#elif SCALES == SCALES_k_signed
    int one = bitfieldExtract(int(loaded.record.x), int(unit % 4 * 8), 8);
    return vec2(unpackHalf2x16(loaded.head).x * float(one), 0) * weight_spread;
#else
    return vec2(1, 0);
#endif
}

#ifndef PLAIN
// What pairs_of_run() has added to the codes of pair `pair` of eight.
float16_t pair_offset(uint pair) {
#if defined(LEVELS)
    return float16_t(0);
#elif defined(NIBBLES)
    return float16_t((pair % 2 == 0 ? 1024 : 64) + ZERO);
#else
    return float16_t(byte_offset);
#endif
}
#endif

// The unit's elements times weight_spread, in order: scale and offset are rounded to f16, then scale x code + offset.
void decode_unit(Unit unit, UnitScales scales, uint number, out uvec4 halves[4]) {
#if FORMAT == FORMAT_f16
    halves = unit.quads;
#elif defined(PLAIN)
    [[unroll]] for (uint i = 0; i < 16; ++i)
        halves[i / 4][i % 4] = packFloat2x16(f16vec2(decode_word(unit.quads[i / 4][i % 4])));
#else
    Codes codes;
    [[unroll]] for (uint i = 0; i < UNIT_QUADS; ++i)
        codes.low[i] = unit.low[i];
    codes.high = unit.high.xyxy;
    [[unroll]] for (uint run = 0; run < 2; ++run) {
        f16vec2 scale = f16vec2(unit_scale(scales, number, SUB_ELEMENTS == 16 ? run : 0));
        f16vec2 pairs[2][4];
        pairs_of_run(codes, run, pairs);
        [[unroll]] for (uint i = 0; i < 8; ++i) {
            f16vec2 exact = pairs[i / 4][i % 4] - pair_offset(i);
#ifdef HAS_OFFSET
            f16vec2 weight = fma(exact, scale.xx, scale.yy);
#else
            f16vec2 weight = exact * scale.xx;
#endif
            halves[2 * run + i / 4][i % 4] = packFloat2x16(weight);
        }
    }
#endif
}
