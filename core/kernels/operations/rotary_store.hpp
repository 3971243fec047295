#pragma once

#include "core/kernels/kv_cache.hpp"
#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace etna::kernels {

/// Which elements of a head rotate together.
enum class RotaryPairs : uint8_t {
    adjacent, ///< (2i, 2i + 1), as GGUF files of architecture llama are permuted for
    halves,   ///< (i, i + rotated / 2), NeoX
};

/// Per head: optional RMS norm of q and k (Qwen3), rotation by the row's angles, then q back in place, k and
/// v, normalised without a weight if so requested (Gemma 4), into the cache at the row's position. Without
/// `stores` only q is turned: another layer has stored the keys and values. Angles come from the host as cos
/// and sin, exact for any position.
struct RotaryStore {
    Rows rows;
    Activations q;         ///< [rows, q_heads * head_dim], rotated in place
    Activations k;         ///< [rows, kv_heads * head_dim], read if `stores`
    Activations v;         ///< [rows, kv_heads * head_dim], read if `stores`; may be k
    vk::Range angles = {}; ///< f32 pairs (cos, sin), [rows of the batch][rotated / 2]; rows.first is applied
    LayerCache cache;
    PageTables tables;
    uint32_t q_heads = 0;
    uint32_t rotated = 0; ///< leading elements of a head that rotate, even, at most head_dim
    RotaryPairs pairs = RotaryPairs::adjacent;
    std::optional<vk::Range> q_norm = std::nullopt; ///< f32 [head_dim]
    std::optional<vk::Range> k_norm = std::nullopt; ///< f32 [head_dim]
    bool norms_values = false;
    bool stores = true;
    float epsilon = 1e-5F;
    /// q is multiplied by 1 + temperature_scale ln(1 + floor(position / temperature_tokens)) (Llama 4,
    /// Ministral).
    float temperature_scale = 0;
    uint32_t temperature_tokens = 1;
};
/// Fails the launcher, and returns false, if the operation's shapes and ranges do not fit together.
bool rotary_fits(const Launcher& launcher, const RotaryStore& operation);
/// Fails the launcher, and returns false, if the cache is shorter than its shape, or the angles than the
/// rows.
bool cache_and_angles_fit(const Launcher& launcher, std::string_view operation, const LayerCache& cache,
                          const Rows& rows, vk::Range angles, uint32_t rotated);
/// The angles of rows, of those of the batch.
vk::Range angles_of(const Rows& rows, vk::Range angles, uint32_t rotated);
void rotary_store(const Launcher& launcher, const RotaryStore& operation);

extern const Operation rotary_store_operation;

} // namespace etna::kernels
