#include "core/model/blocks/latent_attention.hpp"

#include "core/kernels/attention.hpp"
#include "core/kernels/heads_product.hpp"
#include "core/kernels/latent_store.hpp"
#include "core/kernels/rms_norm.hpp"
#include "core/model/blocks/attention_scores.hpp"
#include "core/model/nan_probe.hpp"

#include <array>

namespace etna::model {
namespace {

/// Queries of the step's rows and, before their norm and rotation, latents and the shared part of keys.
void record_queries(const Recording& recording, const LatentAttentionBlock& block) {
    const Activations& activations = recording.activations;
    vk::Recorder& recorder = recording.recorder;
    const auto& narrow = block.narrow_query;
    const LinearWeights& first = narrow ? narrow->a : block.q;
    record_norm(recording, block.norm, reads_halves(first) || reads_halves(block.kv));
    const std::array<Projection, 2> projections{
        {{first, narrow ? activations.latent_query_input : activations.latent_queries},
         {block.kv, activations.k}}};
    record_projections(recording, block.norm, projections);
    if (!narrow)
        return;
    kernels::rms_norm(recording.library, recorder,
                      {.input = activations.latent_query_input,
                       .output = activations.latent_query_input,
                       .weight = narrow->norm,
                       .count = recording.step.rows,
                       .indices = std::nullopt,
                       .epsilon = block.epsilon,
                       .halves = reads_halves(block.q)});
    record_linear(recording, block.q, activations.latent_query_input, activations.latent_queries,
                  kernels::Store::replace);
}

/// The heads that attend to latents, and the step's keys in the cache.
void record_keys(const Recording& recording, const LatentAttentionBlock& block,
                 const kernels::LayerCache& cache) {
    const Activations& activations = recording.activations;
    const GroupInputs& inputs = recording.step.groups[block.group];
    const LatentConfig& shape = block.shape;
    kernels::heads_product(
        recording.library, recording.recorder,
        {.weights = block.key_parts,
         .input = {.rows = activations.latent_queries,
                   .head_dim = shape.query_dim(),
                   .columns = shape.unrotated},
         .output = {.rows = activations.q, .head_dim = cache.head_dim, .columns = shape.rank},
         .count = recording.step.rows});
    kernels::latent_store(recording.library, recording.recorder,
                          {.rows = rows_of(inputs, 0, recording.step.rows),
                           .q = activations.latent_queries,
                           .output = activations.q,
                           .kv = activations.k,
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
void record_values(const Recording& recording, const LatentAttentionBlock& block) {
    const Activations& activations = recording.activations;
    const LatentConfig& shape = block.shape;
    kernels::heads_product(
        recording.library, recording.recorder,
        {.weights = block.value_parts,
         .input = {.rows = activations.attention_output, .head_dim = shape.rank, .columns = shape.rank},
         .output = {.rows = activations.latent_output,
                    .head_dim = shape.value_dim,
                    .columns = shape.value_dim},
         .count = recording.step.rows});
    record_halves(recording, activations.latent_output, reads_halves(block.output.weights));
    record_output(recording, block.output, activations.latent_output);
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

void record(const Recording& recording, const LatentAttentionBlock& block, const kernels::LayerCache& cache) {
    const Activations& activations = recording.activations;
    const GroupInputs& inputs = recording.step.groups[block.group];
    record_queries(recording, block);
    record_keys(recording, block, cache);
    record_scores(recording, block.group, [&](const RowRange& range, const kernels::AttendMax& attend_max) {
        return kernels::Attention{.rows = rows_of(inputs, range.first, range.count),
                                  .q = activations.q,
                                  .output = activations.attention_output,
                                  .cache = cache,
                                  .tables = inputs.tables,
                                  .q_heads = block.q_heads,
                                  .scale = block.scale,
                                  .path = range.path,
                                  .attend_max = attend_max,
                                  .partials = activations.attention_partials,
                                  .counters = activations.attention_counters};
    });
    record_values(recording, block);
}

} // namespace etna::model
