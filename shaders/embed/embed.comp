// y[row][k] = scale * table[token(row)][k], token given by id or read from a slot.
// table: [vocabulary, columns] in FORMAT x ARRANGEMENT; y: f32 [rows, y_stride].
// Grid: x = ceil(columns / 64), y = rows; 64 invocations, one element each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#include "shaders/include/formats.glsl"
#include "shaders/include/rows.h"
#include "shaders/embed/arguments.h"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { EmbedArguments a; };

void main() {
    uint k = gl_GlobalInvocationID.x;
    uint r = gl_WorkGroupID.y;
    if (k >= a.columns)
        return;
    uint source = a.rows.v[r].source;
    uint token = (source & INPUT_IS_SLOT) == 0 ? source
                                               : a.slots.v[min(source & ~INPUT_IS_SLOT, a.slot_count - 1)];
    token = min(token, a.vocabulary - 1);

    uint row_words = a.padded_columns / word_elements;
    uint word_in_row = k / word_elements;
#if ARRANGEMENT == ARRANGEMENT_rows
    uint word = a.weights.v[token * row_words + word_in_row];
#else
    uint word = a.weights.v[(token / 8 * row_words + word_in_row) * 8 + token % 8];
#endif
    float value = decode_word(word)[k % word_elements];
#if FORMAT == FORMAT_q8
    uint blocks = a.padded_columns / 32;
#if ARRANGEMENT == ARRANGEMENT_rows
    value *= row_scale(a.scales, token * blocks + k / 32);
#else
    value *= uintBitsToFloat(a.scales.v[(token / 8 * blocks + k / 32) * 8 + token % 8]);
#endif
#endif
    a.y.v[r * a.y_stride + k] = a.scale * value;
}
