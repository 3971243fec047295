// kernels::ExpertGroups, u32: [0] tiles in use; then for each of `tiles` its expert, its first pair's place in the order,
// its count of pairs; then the order: pair numbers [pairs].
uint tile_at(uint tile) { return 1 + 3 * tile; }
uint order_at(uint tiles) { return 1 + 3 * tiles; }
