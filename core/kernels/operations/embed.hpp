#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

namespace etna::kernels {

/// x[row] = scale x table[token(row)] for rows given by id or by slot, or embedding_scale x a row of
/// `embeddings`; plus positions[RowInfo::position] and `constant` if there are any. Indices are
/// clamped.
struct Embed {
    Rows rows;
    vk::Range slots = {};      ///< u32 [slots]
    vk::Range embeddings = {}; ///< f32 [count, width]; empty: rows that name one read token 0
    vk::Range positions = {};  ///< f32 [count, width]; empty: none
    vk::Range constant = {};   ///< f32 [width]; empty: none
    Matrix table;              ///< [vocabulary, width]
    Activations output;        ///< [rows of the batch, width]; rows.first is applied
    float scale = 1;           ///< Gemma multiplies by sqrt(width)
    float embedding_scale = 1;
};
void embed(const Launcher& launcher, const Embed& operation);
/// Whether a launch is embed's: it reads a few rows of its table.
bool is_embed(shaders::Variant variant);

extern const Operation embed_operation;

} // namespace etna::kernels
