#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct EmbedArguments {
    ADDRESS(Words) weights;
    ADDRESS(Words) scales;
    ADDRESS(RowInfos) rows;
    ADDRESS(Words) slots;
    ADDRESS(Floats) embeddings; // f32 [embedding_count, columns]
    ADDRESS(Floats) y; // of the first row of this dispatch
    uint vocabulary;
    uint first_token; // of the part of the table at hand, which has part_tokens
    uint part_tokens;
    uint columns;
    uint padded_columns; // of a weight row
    uint y_stride;
    uint slot_count;
    uint embedding_count;
    float scale;
    float embedding_scale;
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
