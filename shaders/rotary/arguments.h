#include "shaders/include/shared.h"
#ifdef __cplusplus
#pragma once
namespace etna::shaders {
#endif
struct RotaryStoreArguments {
    ADDRESS(RowInfos) rows;
    ADDRESS(Floats) q; // q, k, v, angles: of the first row of this dispatch
    ADDRESS(Floats) k;
    ADDRESS(Floats) v;
    ADDRESS(Pairs) angles; // (cos, sin) [row][rotated / 2]
    ADDRESS(Words) keys;
    ADDRESS(Words) values;
    ADDRESS(Words) tables;
    ADDRESS(Floats) norms; // q's weight [head_dim], read when use_norms != 0
    ADDRESS(Floats) k_norms;
    uint q_stride;
    uint kv_stride;
    uint q_heads;
    uint kv_heads;
    uint rotated;
    uint pages;
    float epsilon;
    float temperature_scale; // 0: none
    uint temperature_tokens;
    uint unused;
};
// A matrix's part in attention, in the options of HeadsLinearArguments from bit heads_role_shift + 2 index on.
const uint heads_query = 0;
const uint heads_key = 1;
const uint heads_value = 2;
const uint heads_role_shift = 8;
// The first members are those of LinearTilesArguments, the others those of RotaryStoreArguments.
struct HeadsLinearArguments {
    ADDRESS(Quads) weights[3];
    ADDRESS(CoherentFloats) y[3];
    ADDRESS(Floats) bias[3];
    ADDRESS(Quads) x;
    ADDRESS(Floats) squares;
    uint rows[3];
    uint y_strides[3];
    uint tiles;
    uint count;
    float epsilon;
    uint options;
    ADDRESS(CoherentWords) counters; // [role][workgroup of y][head]; zero before and after a dispatch
    ADDRESS(RowInfos) infos;
    ADDRESS(Pairs) angles;
    ADDRESS(Words) keys;
    ADDRESS(Words) values;
    ADDRESS(Words) tables;
    ADDRESS(Floats) norms;
    ADDRESS(Floats) k_norms;
    uint q_heads;
    uint kv_heads;
    uint rotated;
    uint pages;
    float head_epsilon;
    float temperature_scale;
    uint temperature_tokens;
    uint unused;
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
