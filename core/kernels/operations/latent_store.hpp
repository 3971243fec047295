#pragma once

#include "core/kernels/kv_cache.hpp"
#include "core/kernels/operation.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

/// What latent attention (DeepSeek-V2, arXiv 2405.04434) does between its projections and its scores, per
/// row: the rotated part of each query head, to the end of the head that attends to latents; and the key, the
/// latent after its RMS norm and the rotated part that all heads share, into the cache.
struct LatentStore {
    Rows rows;
    Activations q;       ///< [rows, q_heads * (unrotated + rotated)]
    Activations output;  ///< [rows, q_heads * head_dim]: the last `rotated` elements of each head are written
    Activations kv;      ///< [rows, head_dim]: the latent before its norm, and the rotated part
    vk::Range norm = {}; ///< f32 [latent_dim]
    vk::Range angles = {}; ///< as RotaryStore's
    LayerCache cache;      ///< of one kv head, with a latent; head_dim = latent_dim + rotated
    PageTables tables;
    uint32_t q_heads = 0;
    uint32_t unrotated = 0; ///< leading elements of a query head
    uint32_t rotated = 0;   ///< even
    RotaryPairs pairs = RotaryPairs::adjacent;
    float epsilon = 1e-5F;
};
void latent_store(const Launcher& launcher, const LatentStore& operation);

extern const Operation latent_store_operation;

} // namespace etna::kernels
