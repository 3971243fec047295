#include "core/kernels/operations/latent_store.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {

void add_latent_store_cases(Cases& cases, const PlanTarget&) {
    for (const CacheFormat format : {CacheFormat::f32, CacheFormat::f16, CacheFormat::q8_0}) {
        for (const uint32_t q_heads : {16U, 128U}) {
            cases.push_back({fmt::format("latent_store {}, {} heads", name_of(format), q_heads),
                             [=](Library& library, vk::Recorder& recorder) {
                                 Space space;
                                 constexpr uint32_t rotated = 64;
                                 constexpr uint32_t unrotated = 128;
                                 const LayerCache cache = latent_cache(space, format);
                                 latent_store({library, recorder},
                                              {.rows = rows_of(space),
                                               .q = activations(space, q_heads * (unrotated + rotated)),
                                               .output = activations(space, q_heads * cache.head_dim),
                                               .kv = activations(space, cache.head_dim),
                                               .norm = space.take(),
                                               .angles = space.take(),
                                               .cache = cache,
                                               .tables = {space.take()},
                                               .q_heads = q_heads,
                                               .unrotated = unrotated,
                                               .rotated = rotated});
                             }});
        }
    }
}

} // namespace etna::bench
