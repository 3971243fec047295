// y[c][m] (=|+=) f[c] sum_k W[m][k] x[c][k] + bias[m] for few columns c, of up to three matrices W over the same x: the decode path of GPUs,
// for weights in tiles. f[c] is 1, or the factor of a pending norm (pending_norm.glsl).
// W: [rows, columns] in FORMAT, arrangement tiles (include/tiles.glsl); x: blocks of halves (include/halves.glsl);
// y: f32 [count, y_strides].
// Grid: x, z = sum over the matrices of ceil(rows / (8 GROUPS)) folded, y = ceil(count / COLUMNS).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "shaders/linear/tile_sums.glsl"
#include "shaders/linear/pending_norm.glsl"
#define InputElements Vectors
#include "shaders/linear/arguments.h"

layout(push_constant, std430) uniform Push { LinearTilesArguments a; };

struct Member { // of the stack
    uint64_t weights;
    Floats y;
    Floats bias;
    uint rows;
    uint y_stride;
    bool has_bias;
    uint first_group;
};

// The matrix of this workgroup. Indices are constants, so that push constants need no dynamic access.
Member member_of(uint workgroup) {
    Member m = Member(uint64_t(a.weights[0]), a.y[0], a.bias[0], a.rows[0], a.y_strides[0], (a.options & linear_bias_0) != 0, 0);
    const uint rows_each = 8 * GROUPS;
    uint workgroups = (a.rows[0] + rows_each - 1) / rows_each;
    if (workgroup >= workgroups) {
        workgroup -= workgroups;
        workgroups = (a.rows[1] + rows_each - 1) / rows_each;
        m = Member(uint64_t(a.weights[1]), a.y[1], a.bias[1], a.rows[1], a.y_strides[1], (a.options & linear_bias_1) != 0, 0);
        if (workgroup >= workgroups) {
            workgroup -= workgroups;
            m = Member(uint64_t(a.weights[2]), a.y[2], a.bias[2], a.rows[2], a.y_strides[2], (a.options & linear_bias_2) != 0, 0);
        }
    }
    m.first_group = workgroup * GROUPS;
    return m;
}

void store(Member m, uint first_column) {
    bool pending = (a.options & linear_pending_norm) != 0;
    for (uint output_index = gl_LocalInvocationID.x; output_index < SUMS * 8; output_index += WORKGROUP) {
        uint i = output_index / 8;
        uint row = (m.first_group + i / COLUMNS) * 8 + output_index % 8;
        uint column = first_column + i % COLUMNS;
        float y = norm_factor(pending, i % COLUMNS, a.tiles, a.epsilon) * sum_of_slices(i, output_index % 8);
        if (row >= m.rows || column >= a.count)
            continue;
        uint at = column * m.y_stride + row;
        if (m.has_bias)
            y += m.bias.v[row];
        if ((a.options & linear_add) != 0)
            y += m.y.v[at];
        m.y.v[at] = y;
    }
}

void main() {
    Member m = member_of(folded_group());
    uint groups = (m.rows + 7) / 8;
    if (m.first_group >= groups)
        return;
    uint first_column = gl_WorkGroupID.y * COLUMNS;
    begin_tiles(a.tiles);
    float squares[COLUMNS];
    load_squares((a.options & linear_pending_norm) != 0, a.squares, first_column, a.count, a.tiles, squares);
    if (COLUMNS > 1) // frees their registers; with one column, they arrive during the walk
        share_squares(squares);

    uint64_t w_at[GROUPS];
    [[unroll]] for (uint g = 0; g < GROUPS; ++g)
        w_at[g] = m.weights + uint64_t(min(m.first_group + g, groups - 1)) * (a.tiles * tile_words * 4);
    uint64_t x_at[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
        x_at[c] = uint64_t(a.x) + uint64_t(min(first_column + c, a.count - 1)) * (a.tiles * block_bytes);
    float sums[SUMS];
    add_tiles(w_at, x_at, a.tiles, sums);
    share_sums(sums);
    if (COLUMNS == 1)
        share_squares(squares);
    barrier();
    store(m, first_column);
}
