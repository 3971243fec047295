// The work of matrix_tiles.comp with EXPERTS: a tile of pairs that share an expert (experts/groups.glsl), times its matrix W_e or, GATED,
// its matrices G_e and U_e: y[p][m] = act(g + gate_bias[e][m]) (u + up_bias[e][m]), g = sum_k G_e[m][k] x[p / pairs_each][k], u that of U_e;
// act: activation/gated.glsl. Without GATED y[p][m] = sum_k W_e[m][k] x[p / pairs_each][k]; without BIASES, biases are 0.
// W, G, U: [experts][rows padded to 8][columns]; y: f32 [pairs, y_stride]; biases: f32 [experts, rows].
// With GATED M rows of the gate alternate with the same M rows of U in a tile, so that a subgroup has both.
// Grid: x = tiles of pairs, of which the last may be unused; y = ceil(rows / ROWS), or with GATED ceil(rows / (ROWS / 2)).
#include "shaders/experts/groups.glsl"
layout(constant_id = 9) const uint GATED = 0; // ROWS / SUBGROUPS_DOWN is a multiple of 2 M
layout(constant_id = 10) const uint KIND = 0;  // kernels::Gate
layout(constant_id = 11) const uint BIASES = 0;
#include "shaders/activation/gated.glsl"

uint work_expert;
uint work_first; // in the order
uint work_count; // 1..COLUMNS

// The workgroup's work; false if it has none. Every index is clamped.
bool find_work() {
    if (gl_WorkGroupID.x >= min(a.groups.v[0], a.group_tiles))
        return false;
    uint at = tile_at(gl_WorkGroupID.x);
    work_expert = min(a.groups.v[at], a.expert_count - 1);
    work_first = a.groups.v[at + 1];
    work_count = clamp(a.groups.v[at + 2], 1u, COLUMNS);
    return true;
}

uvec2 work_tiles() { return uvec2(0, a.tiles); }

// The row of its matrix that is row `row` of the workgroup's tile.
uint matrix_row(uint row) {
    if (GATED == 0)
        return gl_WorkGroupID.y * ROWS + row;
    return gl_WorkGroupID.y * (ROWS / 2) + row / (2 * M) * M + row % M;
}

// Address of a row of the workgroup's tile in the first tile of its group, with 16 for each row before it in the group.
uint64_t weight_row_at(uint row) {
    uint64_t matrices = GATED != 0 && row / M % 2 == 1 ? uint64_t(a.up) : uint64_t(a.weights);
    uint groups = (a.rows + 7) / 8;
    uint group = work_expert * groups + min(matrix_row(row) / 8, groups - 1);
    return matrices + uint64_t(group) * (a.tiles * tile_words * 4) + row % 8 * 16;
}

uint pair_of(uint column) {
    uint index = min(work_first + min(column, work_count - 1), a.pairs - 1);
    return min(a.groups.v[order_at(a.group_tiles) + index], a.pairs - 1);
}

// The row of x that a column of the workgroup's tile reads.
uint input_row(uint column) { return pair_of(column) / a.pairs_each; }

void store_sum(uint column, uint tile_row, float sum) {
    uint row = matrix_row(tile_row);
    if (row >= a.rows || column >= work_count)
        return;
    uint pair = pair_of(column);
    a.y.v[pair * a.y_stride + row] = sum * input_factor(pair / a.pairs_each);
}

// `tile_row` is one of the gate.
void store_gated(uint column, uint tile_row, float gate, float up) {
    uint row = matrix_row(tile_row);
    if (row >= a.rows || column >= work_count)
        return;
    uint pair = pair_of(column);
    float factor = input_factor(pair / a.pairs_each);
    gate *= factor;
    up *= factor;
    if (BIASES != 0) {
        gate += a.gate_bias.v[work_expert * a.rows + row];
        up += a.up_bias.v[work_expert * a.rows + row];
    }
    a.y.v[pair * a.y_stride + row] = gated(gate, up);
}
