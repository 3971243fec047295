#include "core/kernels/operations/attention.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

/// A cache and the query heads over it.
struct HeadsCase {
    CacheFormats formats;
    uint32_t head_dim = 0;
    uint32_t q_heads = 0;
    bool is_latent = false;
    bool sinks = false;
};

std::vector<HeadsCase> every_heads() {
    std::vector<HeadsCase> all;
    for (const CacheFormat format : {CacheFormat::f32, CacheFormat::f16, CacheFormat::q8_0}) {
        for (const uint32_t q_heads : {16U, 128U}) // DeepSeek-V2-Lite's, and DeepSeek-V3's
            all.push_back({.formats = {format, format}, .q_heads = q_heads, .is_latent = true});
    }
    for (const CacheFormats& formats : cache_formats) {
        all.push_back({.formats = formats, .head_dim = 64, .q_heads = 8 * usual_kv_heads, .sinks = true});
        for (const uint32_t head_dim : {64U, 128U, 256U}) {
            for (const uint32_t group : {1U, 4U, 8U})
                all.push_back({.formats = formats, .head_dim = head_dim, .q_heads = group * usual_kv_heads});
        }
    }
    return all;
}

std::string text_of(const HeadsCase& heads) {
    return heads.is_latent
               ? fmt::format("{}, {} heads over latents", name_of(heads.formats), heads.q_heads)
               : fmt::format("{}, heads of {}, {} to {}{}", name_of(heads.formats), heads.head_dim,
                             heads.q_heads, usual_kv_heads, heads.sinks ? ", sinks" : "");
}

/// Decode rows.
Attention attention_of(Space& space, const HeadsCase& heads) {
    const LayerCache cache = heads.is_latent ? latent_cache(space, heads.formats.keys)
                                             : layer_cache(space, heads.formats, heads.head_dim);
    Attention operation{.rows = rows_of(space),
                        .q = activations(space, heads.q_heads * cache.head_dim),
                        .output = activations(space, heads.q_heads * cache.value_dim()),
                        .cache = cache,
                        .tables = {space.take()},
                        .q_heads = heads.q_heads,
                        .path = RowPath::decode,
                        .attend_max = {.end = context_tokens, .keys = context_tokens},
                        .partials = space.take(),
                        .counters = space.take()};
    if (heads.sinks)
        operation.sinks = space.take();
    return operation;
}

} // namespace

void add_attention_cases(Cases& cases, const PlanTarget&) {
    for (const HeadsCase& heads : every_heads()) {
        cases.push_back({"attention " + text_of(heads), [heads](Library& library, vk::Recorder& recorder) {
                             Space space;
                             Attention operation = attention_of(space, heads);
                             for (const RowPath path : {RowPath::prefill, RowPath::decode}) {
                                 operation.path = path;
                                 attention({library, recorder}, operation);
                             }
                             operation.packed = attention_writes_packed(library.target(), operation.shape());
                             if (operation.packed)
                                 attention({library, recorder}, operation);
                         }});
    }
}

void add_attention_merge_cases(Cases& cases, const PlanTarget& target) {
    for (const HeadsCase& heads : every_heads()) {
        Space space;
        const Attention operation = attention_of(space, heads);
        if (!attention_needs_merge(target, operation))
            continue;
        cases.push_back(
            {"attention_merge " + text_of(heads), [operation](Library& library, vk::Recorder& recorder) {
                 attention_merge({library, recorder}, operation);
             }});
    }
}

} // namespace etna::bench
