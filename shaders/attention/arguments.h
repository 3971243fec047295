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
    ADDRESS(Floats) partials; // [row][q_head][kv_split][value_stride + 2]: sums, then largest score, then sum of weights
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
struct AttentionDecodeArguments {
    ADDRESS(RowInfos) rows;
    ADDRESS(Vectors) q; // q, y: of the first row of this dispatch
    ADDRESS(Vectors) y;
    ADDRESS(Quads) keys;
    ADDRESS(Quads) values;
    ADDRESS(Words) tables;
    ADDRESS(CoherentVectors) partials; // [row][q_head][kv_split][HEAD_DIM + 4]: sums, largest score, sum of weights, unused
    ADDRESS(CoherentWords) counters;   // [row][workgroup of x] of finished workgroups; zero before and after a dispatch
    ADDRESS(Floats) sinks;             // [q_head]; read only with SINKS
    ADDRESS(Words) words;              // y as blocks of halves, of the first row of this dispatch, written with HALVES
    ADDRESS(Floats) floats;            // the same memory
    uint q_stride;                     // in vectors
    uint y_stride;                     // in vectors
    uint q_heads;
    uint kv_heads;
    uint pages;
    uint kv_splits; // number that partials has room for
    float scale;
    float softcap; // 0: none
};
struct AttentionPromptArguments {
    ADDRESS(RowInfos) rows;
    ADDRESS(Vectors) q; // q, y: of the first row of this dispatch
    ADDRESS(Vectors) y;
    ADDRESS(Quads) keys;
    ADDRESS(Quads) values;
    ADDRESS(WordPairs) key_codes; // the same memory as keys, as q8_0 is read
    ADDRESS(WordPairs) value_codes;
    ADDRESS(Words) key_scales;
    ADDRESS(Words) value_scales;
    ADDRESS(Words) tables;
    ADDRESS(Floats) sinks; // [q_head]; read only with SINKS
    uint q_stride;         // in vectors
    uint y_stride;         // in vectors
    uint kv_heads;
    uint pages;
    uint count; // of rows
    float scale;
    float softcap; // 0: none
    uint unused;
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
