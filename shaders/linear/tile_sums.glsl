// The products of weights in tiles (include/tiles.glsl) and blocks of activations (include/halves.glsl), for kernels of few columns. Factors
// are f16 (bf16: f32), products and sums f32. With CODES, factors are codes, and the sums of a sub-block's products are exact integers. Eight lanes side by side have the rows of a group; a slice of eight lanes takes 256 / PARTS
// columns at a time. Sums of a row are in one lane until the slices' are added in order, so that a sum does not depend on COLUMNS or the
// device's subgroups.
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
const uint SUMS = GROUPS * COLUMNS;
const uint SLICES = WORKGROUP / 8;
#include "shaders/linear/tile_codes.glsl"

const uint chunk_elements = 64;
const uint chunk_subs = chunk_elements / SUB_ELEMENTS;
shared float slice_sums[WORKGROUP * SUMS]; // [sum][slice][row]

// Scale and offset of a chunk's sub-blocks are factors.x scales[i] and factors.y offsets[i].
struct ChunkScales {
    vec2 factors;
    float scales[chunk_subs];
    float offsets[chunk_subs];
};

ChunkScales load_scales(uint64_t tile, uint row, uint chunk) {
    ChunkScales s;
    s.factors = vec2(1, 1);
    [[unroll]] for (uint i = 0; i < chunk_subs; ++i) {
        s.scales[i] = 1;
        s.offsets[i] = 0;
    }
#if SCALES == SCALES_half
    vec2 d = unpackHalf2x16(word_at(tile, 0, chunk));
    s.scales[0] = d.x;
    s.scales[1] = d.y;
#elif SCALES == SCALES_bfloat
    uint d = word_at(tile, 0, chunk);
    s.scales[0] = uintBitsToFloat(d << 16);
    s.scales[1] = uintBitsToFloat(d & 0xFFFF0000u);
#elif SCALES == SCALES_pair
    uvec2 words = pair_at(tile, 0, 2 * chunk);
    [[unroll]] for (uint i = 0; i < 2; ++i) {
        vec2 pair = unpackHalf2x16(words[i]);
        s.scales[i] = pair.x;
        s.offsets[i] = pair.y;
    }
#elif SCALES == SCALES_k_pairs
    uvec4 record = quad_at(tile, 0, 0);
    uvec2 scales;
    uvec2 minima;
    six_bit_pairs(record, scales, minima);
    s.factors = unpackHalf2x16(record.x) * vec2(1, -1);
    uint two = (chunk < 2 ? scales.x : scales.y) >> (16 * (chunk % 2));
    uint two_minima = (chunk < 2 ? minima.x : minima.y) >> (16 * (chunk % 2));
    [[unroll]] for (uint i = 0; i < 2; ++i) {
        s.scales[i] = float(bitfieldExtract(two, int(8 * i), 8));
        s.offsets[i] = float(bitfieldExtract(two_minima, int(8 * i), 8));
    }
#elif SCALES == SCALES_k_half_bytes
    s.factors = unpackHalf2x16(OneWord(tile + uint64_t(tile_heads * 4) - uint64_t(row * 12)).v) * vec2(1, -1);
    uint four = word_at(tile, 0, chunk);
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        s.scales[i] = float(bitfieldExtract(four, int(8 * i), 4));
        s.offsets[i] = float(bitfieldExtract(four, int(8 * i + 4), 4));
    }
#elif SCALES == SCALES_k_signed
    uint64_t first = tile - uint64_t(row * 16);
    uint head = OneWord(first + uint64_t(tile_heads * 4 + row / 2 * 4)).v;
    s.factors.x = unpackHalf2x16(head >> (row % 2 * 16)).x;
#if SUB_ELEMENTS == 16
    uint bytes = word_at(tile, 0, chunk);
#else
    uint bytes = OneWord(first + uint64_t(row * 8 + chunk / 2 * 4)).v >> (16 * (chunk % 2));
#endif
    [[unroll]] for (uint i = 0; i < chunk_subs; ++i)
        s.scales[i] = float(bitfieldExtract(int(bytes), int(8 * i), 8));
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
#endif

// Adds 64 columns, chunk `chunk` of a tile: `tile` is the address of the tile's first byte plus 16 x row, `x` that of the block.
#ifdef PLAIN
// Quads of a row that are loaded together; fewer if the sums leave few registers.
const uint PLAIN_QUADS = GROUPS > 1 && COLUMNS > 1 ? 4 : 8;

void add_chunk(uint64_t tiles[GROUPS], uint64_t x[COLUMNS], uint row, uint chunk, inout float sums[SUMS]) {
    float total[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        total[i] = 0;
    [[unroll]] for (uint first = 0; first < 8; first += PLAIN_QUADS) {
        uvec4 w[GROUPS][PLAIN_QUADS];
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            [[unroll]] for (uint i = 0; i < PLAIN_QUADS; ++i)
                w[g][i] = quad_at(tiles[g], 0, (chunk * 8 + first + i) * 4);
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
            [[unroll]] for (uint i = 0; i < PLAIN_QUADS; ++i) {
                uvec4 eight = OneQuad(x[c] + uint64_t(block_halves + chunk * 128 + (first + i) * 16)).v;
                [[unroll]] for (uint g = 0; g < GROUPS; ++g)
                    total[g * COLUMNS + c] = add_plain(w[g][i], eight, total[g * COLUMNS + c]);
            }
    }
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        float factor = uintBitsToFloat(OneWord(x[c]).v);
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            sums[g * COLUMNS + c] = fma(factor, total[g * COLUMNS + c], sums[g * COLUMNS + c]);
    }
}
#else
Codes load_codes(uint64_t tile, uint chunk) {
    Codes codes;
    [[unroll]] for (uint i = 0; i < LOW_BITS / 2; ++i)
        codes.low[i] = quad_at(tile, tile_low, (chunk * (LOW_BITS / 2) + i) * 4);
#if HIGH_BITS == 1
    codes.high = pair_at(tile, tile_high, chunk * 2).xyxy;
#elif HIGH_BITS == 2
    codes.high = quad_at(tile, tile_high, chunk * 4);
#endif
    return codes;
}

// Sums of a chunk's runs of 16 elements.
struct RunSums {
    vec4 plain;
    vec4 nibbles; // as tile_codes.glsl weights them
};

const uint sub_runs = SUB_ELEMENTS / 16;
float sum_of_sub(vec4 run_sums, uint sub) {
    return sub_runs == 1 ? run_sums[sub] : run_sums[min(2 * sub, 3u)] + run_sums[min(2 * sub + 1, 3u)];
}

#ifdef CODES
const uint x_factor = block_code_scale;
const uint x_sums = block_code_sums;

// A sum below 2^22 as a float by its bits: it starts at those of 1.5 x 2^23 (conversions are slow on NVIDIA).
const int float_bias = 0x4B400000;
float unbiased(int sum) { return intBitsToFloat(sum) - 12582912.0; }

// The products of sub-block `sub` of a chunk.
void add_sub(Codes codes[GROUPS], uint64_t x[COLUMNS], uint chunk, uint sub, RunSums run_sums[COLUMNS], out float part[SUMS]) {
    int sums[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        sums[i] = float_bias;
    [[unroll]] for (uint r = 0; r < sub_runs; ++r) {
        uint run = sub * sub_runs + r;
        ivec4 w[GROUPS];
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            w[g] = ivec4(eight_codes(codes[g], 2 * run), eight_codes(codes[g], 2 * run + 1));
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            ivec4 x16 = ivec4(OneQuad(x[c] + uint64_t(block_codes + chunk * 64 + run * 16)).v);
            [[unroll]] for (uint g = 0; g < GROUPS; ++g)
                [[unroll]] for (uint e = 0; e < 4; ++e)
                    sums[g * COLUMNS + c] += dotPacked4x8EXT(w[g][e], x16[e]);
        }
    }
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        part[i] = fma(-float(ZERO), sum_of_sub(run_sums[i % COLUMNS].plain, sub), unbiased(sums[i]));
}
#else
const uint x_factor = 0;
const uint x_sums = block_sums;

void add_sub(Codes codes[GROUPS], uint64_t x[COLUMNS], uint chunk, uint sub, RunSums run_sums[COLUMNS], out float part[SUMS]) {
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        part[i] = 0;
    [[unroll]] for (uint r = 0; r < sub_runs; ++r) {
        uint run = sub * sub_runs + r;
        f16vec2 pairs[GROUPS][2][4];
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            pairs_of_run(codes[g], run, pairs[g]);
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            uvec4 x0 = OneQuad(x[c] + uint64_t(block_halves + chunk * 128 + run * 32)).v;
            uvec4 x1 = OneQuad(x[c] + uint64_t(block_halves + chunk * 128 + run * 32 + 16)).v;
            [[unroll]] for (uint g = 0; g < GROUPS; ++g) {
                uint i = g * COLUMNS + c;
                part[i] = add_eight(pairs[g][1], x1, add_eight(pairs[g][0], x0, part[i]));
                part[i] -= offset_of_run(run_sums[c].plain[run], run_sums[c].nibbles[run]);
            }
        }
    }
}
#endif

void add_chunk(uint64_t tiles[GROUPS], uint64_t x[COLUMNS], uint row, uint chunk, inout float sums[SUMS]) {
    Codes codes[GROUPS];
    ChunkScales scales[GROUPS];
    [[unroll]] for (uint g = 0; g < GROUPS; ++g) {
        codes[g] = load_codes(tiles[g], chunk);
        scales[g] = load_scales(tiles[g], row, chunk);
    }
    RunSums run_sums[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        run_sums[c].plain = OneVector(x[c] + uint64_t(x_sums + chunk * 16)).v;
#if defined(NIBBLES) && !defined(CODES)
        run_sums[c].nibbles = OneVector(x[c] + uint64_t(block_nibble_sums + chunk * 16)).v;
#else
        run_sums[c].nibbles = vec4(0);
#endif
    }
    float total[SUMS];
    float offset[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        total[i] = offset[i] = 0;
    [[unroll]] for (uint sub = 0; sub < chunk_subs; ++sub) {
        float part[SUMS];
        add_sub(codes, x, chunk, sub, run_sums, part);
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
                uint i = g * COLUMNS + c;
                total[i] = fma(scales[g].scales[sub], part[i], total[i]);
#ifdef HAS_OFFSET
                offset[i] = fma(scales[g].offsets[sub], sum_of_sub(run_sums[c].plain, sub), offset[i]);
#endif
            }
    }
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        float factor = uintBitsToFloat(OneWord(x[c] + uint64_t(x_factor)).v);
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
void add_tiles(uint64_t w_at[GROUPS], uint64_t x_at[COLUMNS], uint tiles, out float sums[SUMS]) {
    uint row = gl_LocalInvocationID.x % 8;
    uint slice = gl_LocalInvocationID.x / 8;
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        sums[i] = 0;
    const uint chunks = 256 / chunk_elements / PARTS; // of a slice, in a tile
    for (uint tile = slice / PARTS; tile < tiles; tile += SLICES / PARTS) {
        uint64_t w[GROUPS];
        [[unroll]] for (uint g = 0; g < GROUPS; ++g)
            w[g] = w_at[g] + uint64_t(tile * tile_words * 4 + row * 16);
        uint64_t x[COLUMNS];
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
            x[c] = x_at[c] + uint64_t(tile * block_bytes);
        [[unroll]] for (uint i = 0; i < 4; ++i)
            if (i < chunks)
                add_chunk(w, x, row, slice % PARTS * chunks + i, sums);
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
