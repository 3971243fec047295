#include "core/kernels/operations/rotary_store.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

void add_rotary_store(Cases& cases, CacheFormats formats, uint32_t head_dim, uint32_t q_heads,
                      RotaryPairs pairs, bool norms) {
    cases.push_back({fmt::format("rotary_store {}, heads of {}{}{}", name_of(formats), head_dim,
                                 pairs == RotaryPairs::halves ? ", halves" : "", norms ? ", norms" : ""),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         RotaryStore operation{.rows = rows_of(space),
                                               .q = activations(space, q_heads * head_dim),
                                               .k = activations(space, usual_kv_heads * head_dim),
                                               .v = activations(space, usual_kv_heads * head_dim),
                                               .angles = space.take(),
                                               .cache = layer_cache(space, formats, head_dim),
                                               .tables = {space.take()},
                                               .q_heads = q_heads,
                                               .rotated = head_dim,
                                               .pairs = pairs};
                         if (norms) {
                             operation.q_norm = space.take();
                             operation.k_norm = space.take();
                         }
                         rotary_store({library, recorder}, operation);
                     }});
}

} // namespace

void add_rotary_store_cases(Cases& cases, const PlanTarget&) {
    for (const CacheFormats& formats : cache_formats) {
        for (const uint32_t head_dim : {64U, 128U, 256U}) {
            for (const RotaryPairs pairs : {RotaryPairs::adjacent, RotaryPairs::halves}) {
                for (const bool norms : {false, true})
                    add_rotary_store(cases, formats, head_dim, 32, pairs, norms);
            }
        }
    }
}

} // namespace etna::bench
