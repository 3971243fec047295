// The tile of a workgroup, for push constants ExpertLinearArguments `a` and COLUMNS. Every index is clamped.
uint tile_expert;
uint tile_first;
uint tile_count; // 1..COLUMNS

// False if the workgroup has no tile.
bool find_tile() {
    if (gl_WorkGroupID.y >= min(a.groups.v[0], a.tiles))
        return false;
    uint at = tile_at(gl_WorkGroupID.y);
    tile_expert = min(a.groups.v[at], a.expert_count - 1);
    tile_first = a.groups.v[at + 1];
    tile_count = clamp(a.groups.v[at + 2], 1u, COLUMNS);
    return true;
}

// Pair of column c; columns after the last repeat it.
uint pair_of(uint c) {
    uint index = min(tile_first + min(c, tile_count - 1), a.pairs - 1);
    return min(a.groups.v[order_at(a.tiles) + index], a.pairs - 1);
}

// A row of the expert's matrix in the stack.
uint stack_row(uint row) { return tile_expert * a.padded_rows + min(row, a.padded_rows - 1); }
