#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct AttentionArguments {
    ADDRESS(RowInfos) rows;
    ADDRESS(Floats) q; // q, y: of the first row of this dispatch
    ADDRESS(Floats) y;
    ADDRESS(Quads) keys;
    ADDRESS(Words) values;
    ADDRESS(Words) tables;
    ADDRESS(Floats) partials; // [row][q_head][kv_split][head_stride + 2]: sums, then largest score, then sum of weights
    ADDRESS(Floats) sinks;    // [q_head]; read only with SINKS
    uint q_stride;
    uint y_stride;
    uint q_heads;
    uint kv_heads;
    uint pages;
    uint kv_split_tokens; // keys in a KV split, a multiple of PAGE_TOKENS
    uint kv_splits;       // number that partials has room for
    float scale;
    float softcap; // 0: none
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
