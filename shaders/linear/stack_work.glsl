// The work of matrix_tiles.comp: a tile of a stack of matrices over the same x, and a part of k. Needs push constants
// MatrixTilesArguments `a`.

// The matrix of this workgroup. Indices are constants, so that push constants need no dynamic access.
struct Member {
    uint64_t weights;
    Floats y;
    Floats bias;
    uint rows;
    uint y_stride;
    uint bias_option;
    uint first_row;
};

Member member_of(uint tile) {
    Member m = Member(uint64_t(a.weights[0]), a.y[0], a.bias[0], a.rows[0], a.y_strides[0], linear_bias_0, 0);
    uint tiles = (a.rows[0] + ROWS - 1) / ROWS;
    if (tile >= tiles) {
        tile -= tiles;
        tiles = (a.rows[1] + ROWS - 1) / ROWS;
        m = Member(uint64_t(a.weights[1]), a.y[1], a.bias[1], a.rows[1], a.y_strides[1], linear_bias_1, 0);
        if (tile >= tiles) {
            tile -= tiles;
            m = Member(uint64_t(a.weights[2]), a.y[2], a.bias[2], a.rows[2], a.y_strides[2], linear_bias_2, 0);
        }
    }
    m.first_row = tile * ROWS;
    return m;
}

Member m;

// The workgroup's work; false if it has none.
bool find_work() {
    m = member_of(gl_WorkGroupID.y);
    return true;
}

// The first and the end of the tiles along k.
uvec2 work_tiles() {
    uint each = (a.tiles + a.splits - 1) / a.splits;
    uint first = min(gl_WorkGroupID.z * each, a.tiles);
    return uvec2(first, min(first + each, a.tiles));
}

// Address of a row of the workgroup's tile in the first tile of its group, with 16 for each row before it in the group.
uint64_t weight_row_at(uint row) {
    uint group = min(m.first_row / 8 + row / 8, (m.rows + 7) / 8 - 1);
    return m.weights + uint64_t(group) * (a.tiles * tile_words * 4) + row % 8 * 16;
}

// The row of x that a column of the workgroup's tile reads.
uint input_row(uint column) { return min(gl_WorkGroupID.x * COLUMNS + column, a.count - 1); }

// Whether the tile's sums go to y as whole matrices: all of them are there, aligned, and nothing is added.
bool stores_whole() {
    bool is_alone = a.splits > 1 || (a.options & (linear_add | m.bias_option)) == 0;
    bool is_aligned = (uint64_t(m.y) & 15) == 0 && m.y_stride % 4 == 0;
    return is_alone && is_aligned && m.first_row + ROWS <= m.rows && (gl_WorkGroupID.x + 1) * COLUMNS <= a.count;
}

// The place in y of an element of a whole tile.
uint whole_at(uint column, uint tile_row) {
    return (gl_WorkGroupID.z * a.count + gl_WorkGroupID.x * COLUMNS + column) * m.y_stride + m.first_row + tile_row;
}

// What the sums of a column are multiplied by.
float column_factor(uint column) { return a.splits > 1 ? 1.0 : input_factor(input_row(column)); }

void store_sum(uint column, uint tile_row, float sum) {
    uint row = m.first_row + tile_row;
    column += gl_WorkGroupID.x * COLUMNS;
    if (row >= m.rows || column >= a.count)
        return;
    uint at = (gl_WorkGroupID.z * a.count + column) * m.y_stride + row;
    if (a.splits == 1) {
        sum *= input_factor(column);
        if ((a.options & m.bias_option) != 0)
            sum += m.bias.v[row];
        if ((a.options & linear_add) != 0)
            sum += m.y.v[at];
    }
    m.y.v[at] = sum;
}
