#include "core/model/blocks/latent_attention.hpp"

#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/heads_product.hpp"
#include "core/kernels/operations/latent_store.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/model/blocks/attention_scores.hpp"
#include "core/model/nan_probe.hpp"

#include <array>

namespace etna::model {
namespace {

/// The block's rows from its projections to the attended latents.
struct LatentRows {
    kernels::Activations queries;  ///< [rows, latent_query_width]
    kernels::Activations kv;       ///< [rows, head_dim]: latents and the shared part of keys
    kernels::Activations q;        ///< [rows, q_heads x head_dim]: queries of latents
    kernels::Activations attended; ///< [rows, q_heads x rank]
};

LatentRows take_latent_rows(const Recording& recording, const LatentAttentionBlock& block,
                            const kernels::LayerCache& cache) {
    return {.queries = recording.rows(block.q.weight.rows),
            .kv = recording.rows(block.kv.weight.rows),
            .q = recording.rows(block.q_heads * cache.head_dim),
            .attended = recording.rows(block.q_heads * block.shape.rank)};
}

/// Queries of the step's rows and, before their norm and rotation, latents and the shared part of keys.
void record_queries(const Recording& recording, const LatentAttentionBlock& block, const LatentRows& rows) {
    const auto& narrow = block.narrow_query;
    const LinearWeights& first = narrow ? narrow->a : block.q;
    record_norm(recording, block.norm, reads_packed(first) || reads_packed(block.kv));
    const kernels::Activations input = narrow ? recording.matrix_input(first.weight.rows) : rows.queries;
    const std::array<Projection, 2> projections{{{first, input}, {block.kv, rows.kv}}};
    record_projections(recording, block.norm, projections);
    if (!narrow)
        return;
    record_norm_rows(recording,
                     {.input = input,
                      .output = input,
                      .weight = narrow->norm,
                      .count = recording.step.rows,
                      .indices = std::nullopt,
                      .epsilon = block.epsilon},
                     reads_packed(block.q));
    record_linear(recording, block.q, input, rows.queries, kernels::Store::replace);
}

/// The heads that attend to latents, and the step's keys in the cache.
void record_keys(const Recording& recording, const LatentAttentionBlock& block,
                 const kernels::LayerCache& cache, const LatentRows& rows) {
    const GroupInputs& inputs = recording.step.groups[block.group];
    const LatentConfig& shape = block.shape;
    kernels::heads_product(
        recording.launcher,
        {.weights = block.key_parts,
         .input = {.rows = rows.queries, .head_dim = shape.query_dim(), .columns = shape.unrotated},
         .output = {.rows = rows.q, .head_dim = cache.head_dim, .columns = shape.rank},
         .count = recording.step.rows});
    kernels::latent_store(recording.launcher, {.rows = rows_of(inputs, 0, recording.step.rows),
                                               .q = rows.queries,
                                               .output = rows.q,
                                               .kv = rows.kv,
                                               .norm = block.latent_norm,
                                               .angles = inputs.angles,
                                               .cache = cache,
                                               .tables = inputs.tables,
                                               .q_heads = block.q_heads,
                                               .unrotated = shape.unrotated,
                                               .rotated = shape.rotated,
                                               .pairs = block.pairs,
                                               .epsilon = block.epsilon});
}

/// The heads' weighted latents, through their value projections and O, into the residual.
void record_values(const Recording& recording, const LatentAttentionBlock& block, const LatentRows& rows) {
    const LatentConfig& shape = block.shape;
    const kernels::Activations values = recording.matrix_input(block.q_heads * shape.value_dim);
    kernels::heads_product(
        recording.launcher,
        {.weights = block.value_parts,
         .input = {.rows = rows.attended, .head_dim = shape.rank, .columns = shape.rank},
         .output = {.rows = values, .head_dim = shape.value_dim, .columns = shape.value_dim},
         .count = recording.step.rows});
    record_output(recording, block.output, values);
}

} // namespace

void declare_latent_attention(TensorTable& table, const Config& config, uint32_t layer) {
    const AttentionConfig& attention = *config.layers[layer].attention();
    const LatentConfig& shape = *attention.latent;
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    table.vector(name("attn_norm.weight"), config.width);
    if (shape.query_rank > 0) {
        table.matrix(name("attn_q_a.weight"), shape.query_rank, config.width);
        table.vector(name("attn_q_a_norm.weight"), shape.query_rank);
        table.matrix(name("attn_q_b.weight"), attention.latent_query_width(), shape.query_rank);
    } else {
        table.matrix(name("attn_q.weight"), attention.latent_query_width(), config.width);
    }
    table.matrix(name("attn_kv_a_mqa.weight"), attention.head_dim, config.width);
    table.vector(name("attn_kv_a_norm.weight"), shape.rank);
    table.exact_stack(name("attn_k_b.weight"), attention.q_heads, shape.rank, shape.unrotated);
    table.exact_stack(name("attn_v_b.weight"), attention.q_heads, shape.value_dim, shape.rank);
    table.matrix(name("attn_output.weight"), config.width, attention.latent_output_width());
}

LatentAttentionBlock latent_attention_block(const Weights& weights, const Config& config, uint32_t layer) {
    const AttentionConfig& attention = *config.layers[layer].attention();
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    const auto linear = [&](std::string_view part) {
        return LinearWeights{.weight = weights.matrix(name(part)), .bias = {}};
    };
    std::optional<LatentAttentionBlock::NarrowQuery> narrow;
    if (attention.latent->query_rank > 0)
        narrow = {.a = linear("attn_q_a.weight"), .norm = weights.vector(name("attn_q_a_norm.weight"))};
    return {.norm = {.weight = weights.vector(name("attn_norm.weight")),
                     .epsilon = config.rms_epsilon,
                     .nan_probe = attention_nan_probe(layer)},
            .narrow_query = narrow,
            .q = linear(narrow ? "attn_q_b.weight" : "attn_q.weight"),
            .kv = linear("attn_kv_a_mqa.weight"),
            .latent_norm = weights.vector(name("attn_kv_a_norm.weight")),
            .key_parts = weights.stack(name("attn_k_b.weight")),
            .value_parts = weights.stack(name("attn_v_b.weight")),
            .output = {.weights = linear("attn_output.weight"), .post_norm = {}, .next_norm = std::nullopt},
            .shape = *attention.latent,
            .q_heads = attention.q_heads,
            .pairs = config.cache_groups[attention.group].rotary.pairs,
            .scale = config.attention_scale,
            .epsilon = config.rms_epsilon,
            .group = attention.group};
}

std::vector<const LinearWeights*> readers(const LatentAttentionBlock& block) {
    return {block.narrow_query ? &block.narrow_query->a : &block.q, &block.kv};
}

void record(const Recording& recording, const LatentAttentionBlock& block, const LayerState& state) {
    const kernels::LayerCache& cache = state.cache;
    const GroupInputs& inputs = recording.step.groups[block.group];
    const Arena::Scope scope(recording.arena);
    const LatentRows heads = take_latent_rows(recording, block, cache);
    record_queries(recording, block, heads);
    record_keys(recording, block, cache, heads);
    record_scores(recording, block.group, [&](const RowRange& range, const kernels::AttendMax& attend_max) {
        return kernels::Attention{.rows = rows_of(inputs, range.first, range.count),
                                  .q = heads.q,
                                  .output = heads.attended,
                                  .cache = cache,
                                  .tables = inputs.tables,
                                  .q_heads = block.q_heads,
                                  .scale = block.scale,
                                  .path = range.path,
                                  .attend_max = attend_max};
    });
    record_values(recording, block, heads);
}

} // namespace etna::model
