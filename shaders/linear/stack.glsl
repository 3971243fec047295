// A stack of up to three matrices in tiles over the same x (linear_tiles.comp): a workgroup has 8 GROUPS rows of one of them and COLUMNS
// columns. Needs tile_sums.glsl, pending_norm.glsl, push constants `a` with the members of LinearTilesArguments, and their type of y as
// StackOutput.

struct Member {
    uint64_t weights;
    StackOutput y;
    Floats bias;
    uint rows;
    uint y_stride;
    uint index;
    uint first_group;
};

// The matrix of this workgroup. Indices are constants, so that push constants need no dynamic access.
Member member_of(uint workgroup) {
    Member m = Member(uint64_t(a.weights[0]), a.y[0], a.bias[0], a.rows[0], a.y_strides[0], 0, 0);
    const uint rows_each = 8 * GROUPS;
    uint workgroups = (a.rows[0] + rows_each - 1) / rows_each;
    if (workgroup >= workgroups) {
        workgroup -= workgroups;
        workgroups = (a.rows[1] + rows_each - 1) / rows_each;
        m = Member(uint64_t(a.weights[1]), a.y[1], a.bias[1], a.rows[1], a.y_strides[1], 1, 0);
        if (workgroup >= workgroups) {
            workgroup -= workgroups;
            m = Member(uint64_t(a.weights[2]), a.y[2], a.bias[2], a.rows[2], a.y_strides[2], 2, 0);
        }
    }
    m.first_group = workgroup * GROUPS;
    return m;
}

void store_products(Member m, uint first_column) {
    bool pending = (a.options & linear_pending_norm) != 0;
    bool has_bias = (a.options & linear_bias_0 << m.index) != 0;
    for (uint output_index = gl_LocalInvocationID.x; output_index < SUMS * 8; output_index += WORKGROUP) {
        uint i = output_index / 8;
        uint row = (m.first_group + i / COLUMNS) * 8 + output_index % 8;
        uint column = first_column + i % COLUMNS;
        float y = norm_factor(pending, i % COLUMNS, a.tiles, a.epsilon) * sum_of_slices(i, output_index % 8);
        if (row >= m.rows || column >= a.count)
            continue;
        uint at = column * m.y_stride + row;
        if (has_bias)
            y += m.bias.v[row];
        if ((a.options & linear_add) != 0)
            y += m.y.v[at];
        m.y.v[at] = y;
    }
}

// The workgroup's part of y.
void multiply(Member m, uint first_column) {
    begin_tiles(a.tiles);
    float squares[COLUMNS];
    load_squares((a.options & linear_pending_norm) != 0, a.squares, first_column, a.count, a.tiles, squares);
    if (COLUMNS > 1) // frees their registers; with one column, they arrive during the walk
        share_squares(squares);

    uint groups = (m.rows + 7) / 8;
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
    store_products(m, first_column);
}
