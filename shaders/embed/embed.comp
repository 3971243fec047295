// y[row][k] = scale * table[token(row)][k], token given by id or read from a slot; or embedding_scale * embeddings[e(row)][k].
// table: [vocabulary, columns] in FORMAT x ARRANGEMENT; y: f32 [rows, y_stride].
// Without embeddings, rows that name one read token 0.
// A table may lie in several parts: one dispatch each, which skips rows of other parts.
// Grid: x = ceil(columns / 512), y = rows; 64 invocations, eight elements each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/formats.glsl"
#include "shaders/include/rows.h"
#include "shaders/embed/arguments.h"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { EmbedArguments a; };

void main() {
    uint eight = gl_GlobalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    if (eight * 8 >= a.columns)
        return;
    uint source = a.rows.v[r].source;
    bool is_embedding = (source & INPUT_IS_SLOT) == 0 && (source & INPUT_IS_EMBEDDING) != 0;
    if (is_embedding && a.embedding_count > 0) {
        uint first = min(source & ~INPUT_IS_EMBEDDING, a.embedding_count - 1) * a.columns;
        if (a.first_token == 0)
            for (uint k = eight * 8; k < min(eight * 8 + 8, a.columns); ++k)
                a.y.v[r * a.y_stride + k] = a.embedding_scale * a.embeddings.v[first + k];
        return;
    }
    uint token = (source & INPUT_IS_SLOT) == 0 ? source
                                               : a.slots.v[min(source & ~INPUT_IS_SLOT, a.slot_count - 1)];
    token = (is_embedding ? 0 : min(token, a.vocabulary - 1)) - a.first_token;
    if (token >= a.part_tokens) // also below the first, by wrapping around
        return;

    uint blocks = a.padded_columns / 32;
    vec4 codes[2];
    load_row_eight(a.weights, token, blocks, eight / 4, eight % 4, codes);
    vec2 scale = load_row_scale(a.weights, a.scales, token, blocks, eight / 4, eight % 4);
    [[unroll]] for (uint e = 0; e < 8; ++e)
        if (eight * 8 + e < a.columns)
            a.y.v[r * a.y_stride + eight * 8 + e] = a.scale * fma(scale.x, codes[e / 4][e % 4], scale.y);
}
