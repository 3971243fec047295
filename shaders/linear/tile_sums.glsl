// The products of weights in tiles (include/tiles.glsl) and blocks of activations (include/halves.glsl), for kernels of few columns. Factors
// are f16 (bf16: f32), products and sums f32. With CODES, factors are codes, and the sums of a sub-block's products are exact integers.
// Eight lanes side by side have the rows of a group; a slice of eight lanes takes 256 / PARTS columns at a time. Sums of a row are in
// one lane until the slices' are added in order, so that a sum does not depend on COLUMNS or the device's subgroups.
#include "shaders/include/buffers.glsl"
#define ARRANGEMENT 2 // tiles
#include "shaders/include/formats.glsl"
#include "shaders/include/tile_words.glsl"
#include "shaders/include/halves.glsl"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint WORKGROUP = 64; // 8 PARTS or a multiple
layout(constant_id = 1) const uint GROUPS = 1;     // 1..4
layout(constant_id = 2) const uint COLUMNS = 1;    // 1..8
layout(constant_id = 3) const uint PARTS = 1;      // slices that share a tile: 1, 2, 4
layout(constant_id = 4) const uint CODE_BYTES = 0; // of an activation: 1, or 2 with fine codes; 0: halves
const uint SUMS = GROUPS * COLUMNS;
const uint SLICES = WORKGROUP / 8;
#include "shaders/linear/tile_codes.glsl"

const uint chunk_elements = 64;
const uint chunk_subs = chunk_elements / SUB_ELEMENTS;
const uint tile_bytes = tile_words * 4;
const uint low_bytes = low_bits * 64; // of a group's chunk in the low plane
const uint high_bytes = HIGH_BITS * 64;
shared float slice_sums[WORKGROUP * SUMS]; // [sum][slice][row]

// A chunk of a row: offsets in bytes from the tile's first byte plus 16 x row, modulo 2^32.
struct Chunk {
    uint low;    // its codes or elements, less those of the plane
    uint high;
    uint record; // the words of its scales, and the head
    uint head;
#if SCALES == SCALES_k_pairs
    bool is_upper; // where its two scales and minima are in the record
    uint shift;
    uint minima_shift;
    uint low_mask;
    uint high_mask;
#endif
};

Chunk chunk_of(uint row, uint number) {
    Chunk c;
    c.low = number * low_bytes;
    c.high = HIGH_BITS == 1 ? number / 2 * 128 + number % 2 * 8 : number * 128;
    c.record = number * 4;
    c.head = 0;
#if SCALES == SCALES_pair
    c.record = number / 2 * 128 + number % 2 * 8;
#elif SCALES == SCALES_k_half_bytes
    c.head = tile_heads * 4 - row * 12;
#elif SCALES == SCALES_k_signed
    c.head = tile_heads * 4 - row * 16 + row / 2 * 4;
#if SUB_ELEMENTS == 32
    c.record = number / 2 * 4 - row * 8;
#endif
#elif SCALES == SCALES_k_pairs
    c.is_upper = number >= 2;
    c.shift = number % 2 * 16;
    c.minima_shift = c.shift + (c.is_upper ? 4 : 0);
    c.low_mask = c.is_upper ? 0x0F0F : 0x3F3F;
    c.high_mask = c.is_upper ? 0x3030 : 0;
#endif
    return c;
}

// Scale and offset of a chunk's sub-blocks are factors.x scales[i] and factors.y offsets[i].
struct ChunkScales {
    vec2 factors;
    float scales[chunk_subs];
    float offsets[chunk_subs];
};

float signed_byte_of(uint word, uint i) { return float(int(word << (24 - 8 * i)) >> 24); }
float byte_of(uint word, uint i) { return float((word >> (8 * i)) & 0xFF); }

// `w` is the group's memory, `at` the tile's first byte plus 16 x row.
ChunkScales load_scales(uint64_t w, uint at, uint row, uint number, Chunk chunk) {
    ChunkScales s;
    s.factors = vec2(1, 1);
    [[unroll]] for (uint i = 0; i < chunk_subs; ++i) {
        s.scales[i] = 1;
        s.offsets[i] = 0;
    }
#if SCALES == SCALES_half
    vec2 d = unpackHalf2x16(OneWord(w + uint64_t(at + chunk.record)).v);
    s.scales[0] = d.x;
    s.scales[1] = d.y;
#elif SCALES == SCALES_bfloat
    uint d = OneWord(w + uint64_t(at + chunk.record)).v;
    s.scales[0] = uintBitsToFloat(d << 16);
    s.scales[1] = uintBitsToFloat(d & 0xFFFF0000u);
#elif SCALES == SCALES_pair
    uvec2 words = OnePair(w + uint64_t(at + chunk.record)).v;
    [[unroll]] for (uint i = 0; i < 2; ++i) {
        vec2 pair = unpackHalf2x16(words[i]);
        s.scales[i] = pair.x;
        s.offsets[i] = pair.y;
    }
#elif SCALES == SCALES_k_pairs
    uvec4 record = OneQuad(w + uint64_t(at)).v;
    s.factors = unpackHalf2x16(record.x) * vec2(1, -1);
    // As six_bit_pairs() has them, of two sub-blocks.
    uint scales = (((chunk.is_upper ? record.w : record.y) >> chunk.shift) & chunk.low_mask) |
                  ((record.y >> (chunk.shift + 2)) & chunk.high_mask);
    uint minima = (((chunk.is_upper ? record.w : record.z) >> chunk.minima_shift) & chunk.low_mask) |
                  ((record.z >> (chunk.shift + 2)) & chunk.high_mask);
    [[unroll]] for (uint i = 0; i < 2; ++i) {
        s.scales[i] = byte_of(scales, i);
        s.offsets[i] = byte_of(minima, i);
    }
#elif SCALES == SCALES_k_half_bytes
    s.factors = unpackHalf2x16(OneWord(w + uint64_t(at + chunk.head)).v) * vec2(1, -1);
    uint four = OneWord(w + uint64_t(at + chunk.record)).v;
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        s.scales[i] = float(bitfieldExtract(four, int(8 * i), 4));
        s.offsets[i] = float(bitfieldExtract(four, int(8 * i + 4), 4));
    }
#elif SCALES == SCALES_k_signed
    s.factors.x = unpackHalf2x16(OneWord(w + uint64_t(at + chunk.head)).v >> (row % 2 * 16)).x;
    uint bytes = OneWord(w + uint64_t(at + chunk.record)).v;
#if SUB_ELEMENTS == 32
    bytes >>= number % 2 * 16;
#endif
    [[unroll]] for (uint i = 0; i < chunk_subs; ++i)
        s.scales[i] = signed_byte_of(bytes, i);
#endif
    return s;
}

float add_eight(f16vec2 w[4], uvec4 x, float sum) {
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        f16vec2 two = unpackFloat2x16(x[i]);
        sum = fma(float(w[i].y), float(two.y), fma(float(w[i].x), float(two.x), sum));
    }
    return sum;
}

#ifdef PLAIN
// Adds eight weights, a quad of words, times eight halves.
float add_plain(uvec4 w, uvec4 x, float sum) {
#if FORMAT == FORMAT_f16
    f16vec2 pairs[4];
    [[unroll]] for (uint e = 0; e < 4; ++e)
        pairs[e] = unpackFloat2x16(w[e]);
    return add_eight(pairs, x, sum);
#else
    [[unroll]] for (uint e = 0; e < 4; ++e) {
        vec2 pair = decode_word(w[e]);
        vec2 halves = unpackHalf2x16(x[e]);
        sum = fma(pair.y, halves.y, fma(pair.x, halves.x, sum));
    }
    return sum;
#endif
}

// Quads of a row that are loaded together; fewer if the sums leave few registers.
const uint PLAIN_QUADS = GROUPS > 1 && COLUMNS > 1 ? 4 : 8;

// Adds 64 columns, chunk `number` of a tile. A group's memory is w[g], a column's x[c]; w_at is the tile's first byte plus 16 x row, x_at
// that of the quarter.
void add_chunk(uint64_t w[GROUPS], uint w_at, uint64_t x[COLUMNS], uint x_at, uint row, uint number, Chunk chunk, inout float sums[SUMS]) {
    float total[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        total[i] = 0;
    [[unroll]] for (uint first = 0; first < 8; first += PLAIN_QUADS) {
        uvec4 quads[GROUPS][PLAIN_QUADS];
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            [[unroll]] for (uint i = 0; i < PLAIN_QUADS; ++i)
                quads[g][i] = OneQuad(w[g] + uint64_t(w_at + chunk.low) + uint64_t((first + i) * 128)).v;
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
            [[unroll]] for (uint i = 0; i < PLAIN_QUADS; ++i) {
                uvec4 eight = OneQuad(x[c] + uint64_t(x_at) + uint64_t(quarter_halves + (first + i) * 16)).v;
                [[unroll]] for (uint g = 0; g < GROUPS; ++g)
                    total[g * COLUMNS + c] = add_plain(quads[g][i], eight, total[g * COLUMNS + c]);
            }
    }
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        float factor = uintBitsToFloat(OneWord(x[c] + uint64_t(x_at)).v);
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            sums[g * COLUMNS + c] = fma(factor, total[g * COLUMNS + c], sums[g * COLUMNS + c]);
    }
}
#else
Codes load_codes(uint64_t w, uint at, Chunk chunk) {
    Codes codes;
    [[unroll]] for (uint i = 0; i < LOW_BITS / 2; ++i)
        codes.low[i] = OneQuad(w + uint64_t(at + chunk.low) + uint64_t(tile_low * 4 + i * 128)).v;
#if HIGH_BITS == 1
    codes.high = OnePair(w + uint64_t(at + chunk.high) + uint64_t(tile_high * 4)).v.xyxy;
#elif HIGH_BITS == 2
    codes.high = OneQuad(w + uint64_t(at + chunk.high) + uint64_t(tile_high * 4)).v;
#endif
    return codes;
}

const uint sub_runs = SUB_ELEMENTS / 16;
float sum_of_sub(vec4 run_sums, uint sub) {
    return sub_runs == 1 ? run_sums[sub] : run_sums[min(2 * sub, 3u)] + run_sums[min(2 * sub + 1, 3u)];
}

#ifdef CODES
const uint x_factor = CODE_BYTES == 2 ? quarter_fine_scale : quarter_scale;
const uint x_sums = CODE_BYTES == 2 ? quarter_fine_sums : quarter_code_sums;
const uint x_totals = CODE_BYTES == 2 ? quarter_fine_totals : quarter_code_totals;

#define RunSums ivec4
// Where the sums of products begin, in each run of 16: what the weights' zero takes off.
RunSums load_run_sums(uint64_t x, uint x_at) {
#if ZERO > 0
    return -ZERO * ivec4(OneQuad(x + uint64_t(x_at) + uint64_t(x_totals)).v);
#else
    return ivec4(0);
#endif
}

// The products of sub-block `sub` of a chunk.
void add_sub(Codes codes[GROUPS], uint64_t x[COLUMNS], uint x_at, uint sub, RunSums zeros[COLUMNS], out float part[SUMS]) {
    int sums[SUMS];
    int fine_sums[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i) {
        ivec4 zero = zeros[i % COLUMNS];
        int first = sub_runs == 1 ? zero[sub] : zero[min(2 * sub, 3u)] + zero[min(2 * sub + 1, 3u)];
        sums[i] = CODE_BYTES == 2 ? 0 : first;
        fine_sums[i] = first;
    }
    [[unroll]] for (uint r = 0; r < sub_runs; ++r) {
        uint run = sub * sub_runs + r;
        ivec4 w[GROUPS];
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            w[g] = ivec4(eight_codes(codes[g], 2 * run), eight_codes(codes[g], 2 * run + 1));
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            ivec4 x16 = ivec4(OneQuad(x[c] + uint64_t(x_at) + uint64_t(quarter_codes + run * 16)).v);
            ivec4 fine = ivec4(0);
            if (CODE_BYTES == 2)
                fine = ivec4(OneQuad(x[c] + uint64_t(x_at) + uint64_t(quarter_fine_codes + run * 16)).v);
            [[unroll]] for (uint g = 0; g < GROUPS; ++g)
                [[unroll]] for (uint e = 0; e < 4; ++e) {
                    sums[g * COLUMNS + c] += dotPacked4x8EXT(w[g][e], x16[e]);
                    if (CODE_BYTES == 2)
                        fine_sums[g * COLUMNS + c] += dotPacked4x8EXT(w[g][e], fine[e]);
                }
        }
    }
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        part[i] = float(CODE_BYTES == 2 ? (sums[i] << 8) + fine_sums[i] : sums[i]);
}
#else
const uint x_factor = 0;
const uint x_sums = quarter_sums;

// Sums of a chunk's runs of 16 elements.
struct RunSums {
    vec4 plain;
    vec4 nibbles; // as tile_codes.glsl weights them
};

RunSums load_run_sums(uint64_t x, uint x_at) {
    RunSums sums;
    sums.plain = OneVector(x + uint64_t(x_at) + uint64_t(quarter_sums)).v;
#ifdef NIBBLES
    sums.nibbles = OneVector(x + uint64_t(x_at) + uint64_t(quarter_nibble_sums)).v;
#else
    sums.nibbles = vec4(0);
#endif
    return sums;
}

void add_sub(Codes codes[GROUPS], uint64_t x[COLUMNS], uint x_at, uint sub, RunSums run_sums[COLUMNS], out float part[SUMS]) {
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        part[i] = 0;
    [[unroll]] for (uint r = 0; r < sub_runs; ++r) {
        uint run = sub * sub_runs + r;
        f16vec2 pairs[GROUPS][2][4];
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            pairs_of_run(codes[g], run, pairs[g]);
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            uvec4 x0 = OneQuad(x[c] + uint64_t(x_at) + uint64_t(quarter_halves + run * 32)).v;
            uvec4 x1 = OneQuad(x[c] + uint64_t(x_at) + uint64_t(quarter_halves + run * 32 + 16)).v;
            [[unroll]] for (uint g = 0; g < GROUPS; ++g) {
                uint i = g * COLUMNS + c;
                part[i] = add_eight(pairs[g][1], x1, add_eight(pairs[g][0], x0, part[i]));
                part[i] -= offset_of_run(run_sums[c].plain[run], run_sums[c].nibbles[run]);
            }
        }
    }
}
#endif

// Adds 64 columns, chunk `number` of a tile. A group's memory is w[g], a column's x[c]; w_at is the tile's first byte plus 16 x row, x_at
// that of the quarter.
void add_chunk(uint64_t w[GROUPS], uint w_at, uint64_t x[COLUMNS], uint x_at, uint row, uint number, Chunk chunk, inout float sums[SUMS]) {
    Codes codes[GROUPS];
    ChunkScales scales[GROUPS];
    [[unroll]] for (uint g = 0; g < GROUPS; ++g) {
        codes[g] = load_codes(w[g], w_at, chunk);
        scales[g] = load_scales(w[g], w_at, row, number, chunk);
    }
    RunSums run_sums[COLUMNS];
    vec4 offset_sums[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        run_sums[c] = load_run_sums(x[c], x_at);
#ifdef HAS_OFFSET
        offset_sums[c] = OneVector(x[c] + uint64_t(x_at) + uint64_t(x_sums)).v;
#endif
    }
    float total[SUMS];
    float offset[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        total[i] = offset[i] = 0;
    [[unroll]] for (uint sub = 0; sub < chunk_subs; ++sub) {
        float part[SUMS];
        add_sub(codes, x, x_at, sub, run_sums, part);
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
                uint i = g * COLUMNS + c;
                total[i] = fma(scales[g].scales[sub], part[i], total[i]);
#ifdef HAS_OFFSET
                offset[i] = fma(scales[g].offsets[sub], sum_of_sub(offset_sums[c], sub), offset[i]);
#endif
            }
    }
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        float factor = uintBitsToFloat(OneWord(x[c] + uint64_t(x_at) + uint64_t(x_factor)).v);
        [[unroll]] for (uint g = 0; g < GROUPS; ++g) {
            uint i = g * COLUMNS + c;
#ifdef HAS_OFFSET
            float sum = fma(scales[g].factors.x, total[i], scales[g].factors.y * offset[i]);
#else
            float sum = scales[g].factors.x * total[i];
#endif
            sums[i] = fma(factor, sum, sums[i]);
        }
    }
}
#endif

// Begins a kernel; `tiles` of a group of rows. Called by whole workgroups.
void begin_tiles(uint tiles) {
#ifdef LEVELS
    fill_levels();
#endif
    set_masks(gl_LocalInvocationID.x + tiles);
}

// The sums of this invocation over the tiles of its slice, [group][column]; w_at and x_at are uniform.
void add_tiles(uint64_t w[GROUPS], uint64_t x[COLUMNS], uint tiles, out float sums[SUMS]) {
    uint row = gl_LocalInvocationID.x % 8;
    uint slice = gl_LocalInvocationID.x / 8;
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        sums[i] = 0;
    const uint chunks = 4 / PARTS; // of a slice, in a tile
    const uint step = SLICES / PARTS;
    uint first = slice % PARTS * chunks;
    Chunk chunk[4];
    [[unroll]] for (uint i = 0; i < 4; ++i)
        chunk[i] = chunk_of(row, first + min(i, chunks - 1));
    uint w_at = slice / PARTS * tile_bytes + row * 16;
    uint x_at = slice / PARTS * block_bytes + first * quarter_bytes;
    for (uint end = tiles * tile_bytes; w_at < end; w_at += step * tile_bytes) { // the tile begins before `end` if w_at does
        [[unroll]] for (uint i = 0; i < 4; ++i)
            if (i < chunks)
                add_chunk(w, w_at, x, x_at + i * quarter_bytes, row, first + i, chunk[i], sums);
        x_at += step * block_bytes;
    }
}

// Shares the sums with the workgroup, for sum_of_slices(). A barrier follows.
void share_sums(float sums[SUMS]) {
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        slice_sums[i * WORKGROUP + gl_LocalInvocationID.x] = sums[i];
}

// Sum i, [group][column], of one of the eight rows.
float sum_of_slices(uint i, uint row) {
    float sum = slice_sums[i * WORKGROUP + row];
    [[unroll]] for (uint slice = 1; slice < SLICES; ++slice)
        sum += slice_sums[i * WORKGROUP + slice * 8 + row];
    return sum;
}
