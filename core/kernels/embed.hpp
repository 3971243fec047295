#pragma once

#include "core/kernels/rows.hpp"

namespace etna::kernels {

/// x[row] = table[token(row)] for rows given by id or by slot; ids at or above the vocabulary are clamped.
struct Embed {
    Rows rows;
    vk::Range slots = {}; ///< u32 [slots]
    Matrix table;         ///< [vocabulary, width]
    Activations output;   ///< [rows of the batch, width]; rows.first is applied
    float scale = 1;      ///< Gemma multiplies by sqrt(width)
};
void embed(Library& library, vk::Recorder& recorder, const Embed& operation);

} // namespace etna::kernels
