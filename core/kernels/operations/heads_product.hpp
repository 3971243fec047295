#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/operations/experts.hpp"

#include <cstdint>

namespace etna::kernels {

/// A part of each head in rows of activations, the heads next to each other.
struct HeadParts {
    Activations rows;      ///< [rows, heads * head_dim], without padding
    uint32_t head_dim = 0; ///< a multiple of 4
    uint32_t columns = 0;  ///< leading elements of a head, of which the part consists
};

/// output[row][head] = W_head input[row][head], with a matrix of a stack for each head: latent attention's
/// products with the parts of its up-projections (arXiv 2405.04434). The matrices are in rows or lanes; no
/// sum depends on the number of rows.
struct HeadsProduct {
    MatrixStack weights;
    HeadParts input;  ///< `columns` of a matrix, a multiple of column_padding
    HeadParts output; ///< `rows` of a matrix
    uint32_t first = 0;
    uint32_t count = 0; ///< rows of the step
};
void heads_product(const Launcher& launcher, const HeadsProduct& operation);

extern const Operation heads_product_operation;

} // namespace etna::kernels
