#include "shaders/include/shared.h"
#ifdef __cplusplus
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
#ifdef __cplusplus
} // namespace etna::shaders
#endif
