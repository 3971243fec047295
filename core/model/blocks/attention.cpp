#include "core/model/blocks/attention.hpp"

#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/heads_linear.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/model/blocks/attention_scores.hpp"
#include "core/model/blocks/latent_attention.hpp"
#include "core/model/mixer.hpp"
#include "core/model/nan_probe.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::model {
namespace {

constexpr std::string_view gate_name = "attn_q_gate"; ///< of the gate's rows in attn_q

std::string post_norm_name(uint32_t layer) {
    return tensor_name(layer, fmt::format("{}.weight", post_attention_norm));
}

LinearWeights linear_weights(const Weights& weights, uint32_t layer, std::string_view name) {
    return {.weight = weights.matrix(tensor_name(layer, fmt::format("{}.weight", name))),
            .bias = weights.find_vector(tensor_name(layer, fmt::format("{}.bias", name)))};
}

/// Whether attention itself writes the packed form of its decode rows that the output matrix reads.
bool writes_packed(const Recording& recording, const AttentionBlock& block,
                   const kernels::LayerCache& cache) {
    return !block.gate && reads_packed(block.output.weights) &&
           kernels::attention_writes_packed(recording.launcher.target(), {.q_heads = block.q_heads,
                                                                          .kv_heads = cache.kv_heads,
                                                                          .head_dim = cache.head_dim,
                                                                          .formats = cache.formats,
                                                                          .has_alibi = block.alibi != 0});
}

/// The block's heads, of the rows of a step.
struct HeadRows {
    kernels::Activations q;                   ///< [rows, q_width]
    kernels::Activations k;                   ///< [rows, kv_width]; with keys of an earlier layer unused
    kernels::Activations v;                   ///< the same; k if values are the keys
    kernels::Activations output;              ///< [rows, q_width]: the input of the output matrix or the gate
    std::optional<kernels::Activations> gate; ///< [rows, q_width]; then its product with `output`
};

HeadRows take_head_rows(const Recording& recording, const AttentionBlock& block,
                        const kernels::LayerCache& cache) {
    const uint32_t q_width = block.q.weight.rows;
    const uint32_t kv_width = cache.kv_heads * cache.head_dim;
    HeadRows rows{.q = recording.rows(q_width),
                  .k = recording.rows(kv_width),
                  .v = {},
                  .output = block.gate ? recording.rows(q_width) : recording.matrix_input(q_width),
                  .gate = std::nullopt};
    rows.v = block.v ? recording.rows(kv_width) : rows.k;
    if (block.gate)
        rows.gate = recording.matrix_input(q_width);
    return rows;
}

/// Norms, rotation and store of rows [first, first + count).
kernels::RotaryStore rotary_of(const Recording& recording, const AttentionBlock& block,
                               const kernels::LayerCache& cache, const HeadRows& heads, uint32_t first,
                               uint32_t count) {
    const GroupInputs& inputs = recording.step.groups[block.group];
    return {.rows = rows_of(inputs, first, count),
            .q = heads.q,
            .k = heads.k,
            .v = heads.v,
            .angles = inputs.angles,
            .cache = cache,
            .tables = inputs.tables,
            .q_heads = block.q_heads,
            .rotated = block.rotated,
            .pairs = block.pairs,
            .q_norm = block.q_norm,
            .k_norm = block.k_norm,
            .norms_values = block.norms_values,
            .stores = block.k.has_value(),
            .epsilon = block.epsilon,
            .temperature_scale = block.temperature_scale,
            .temperature_tokens = block.temperature_tokens};
}

/// Projections of decode rows with rotation and store: one dispatch for each layout. Precondition: the block
/// has k and v.
void record_fused_heads(const Recording& recording, const AttentionBlock& block,
                        const kernels::LayerCache& cache, const HeadRows& heads, const RowRange& range) {
    using Layout = kernels::Layout;
    const auto matrix = [](const LinearWeights& one, Layout layout) -> std::optional<kernels::HeadMatrix> {
        if (one.weight.layout != layout)
            return std::nullopt;
        return kernels::HeadMatrix{.weight = one.weight, .bias = one.bias};
    };
    const uint64_t counter_bytes = kernels::heads_counter_bytes(range.count, block.q_heads, cache.kv_heads);
    const std::array layouts{block.q.weight.layout, block.k->weight.layout, block.v->weight.layout};
    for (auto layout = layouts.begin(); layout != layouts.end(); ++layout) {
        if (std::find(layouts.begin(), layout, *layout) != layout)
            continue;
        kernels::heads_linear(recording.launcher,
                              {.q = matrix(block.q, *layout),
                               .k = matrix(*block.k, *layout),
                               .v = matrix(*block.v, *layout),
                               .input = recording.activations.hidden,
                               .norm = pending_norm(recording, block.norm),
                               .heads = rotary_of(recording, block, cache, heads, range.first, range.count),
                               .counters = recording.arena.zeros(counter_bytes)});
    }
}

/// Norm and projections of the block's input, rotation and store of the heads.
void record_heads_input(const Recording& recording, const AttentionBlock& block,
                        const kernels::LayerCache& cache, const HeadRows& heads) {
    std::vector<Projection> projections{{block.q, heads.q}};
    if (block.k)
        projections.push_back({*block.k, heads.k});
    if (block.v)
        projections.push_back({*block.v, heads.v});
    if (block.gate)
        projections.push_back({*block.gate, *heads.gate});
    const bool packed =
        std::ranges::any_of(projections, [](const Projection& one) { return reads_packed(one.weights); });
    record_norm(recording, block.norm, packed);
    const std::span<const Projection> all = projections;
    for (const RowRange& range : recording.step.row_ranges) {
        const bool is_fused = block.is_heads_fused && range.path == kernels::RowPath::decode;
        if (is_fused)
            record_fused_heads(recording, block, cache, heads, range);
        record_projections(recording, range, block.norm,
                           is_fused ? all.subspan(3) : all); // q, k, v are first
    }
    const RowRange rows = rows_outside(recording.step, block.is_heads_fused);
    kernels::rotary_store(recording.launcher,
                          rotary_of(recording, block, cache, heads, rows.first, rows.count));
}

kernels::Attention attention_of(const Recording& recording, const AttentionBlock& block,
                                const kernels::LayerCache& cache, const HeadRows& heads,
                                const RowRange& range, const kernels::AttendMax& attend_max) {
    const GroupInputs& inputs = recording.step.groups[block.group];
    return {.rows = rows_of(inputs, range.first, range.count),
            .q = heads.q,
            .output = heads.output,
            .cache = cache,
            .tables = inputs.tables,
            .q_heads = block.q_heads,
            .scale = block.scale,
            .alibi = block.alibi,
            .softcap = block.softcap,
            .path = range.path,
            .sequences = range.sequences,
            .attend_max = attend_max,
            .sinks = block.sinks,
            .packed = range.path == kernels::RowPath::decode && writes_packed(recording, block, cache)};
}

/// The heads' outputs, gated if the block has a gate, through O into the residual.
void record_heads_output(const Recording& recording, const AttentionBlock& block, const HeadRows& heads) {
    if (!heads.gate) {
        record_output(recording, block.output, heads.output);
        return;
    }
    kernels::gate_multiply(recording.launcher,
                           {.gate = *heads.gate,
                            .up = heads.output,
                            .count = recording.step.rows,
                            .kind = kernels::Gate::sigmoid,
                            .packed = has_decode_rows(recording.step) && reads_packed(block.output.weights)});
    record_output(recording, block.output, *heads.gate);
}

} // namespace

void declare_attention(TensorTable& table, const Config& config, uint32_t layer, AttentionTensors tensors) {
    const AttentionConfig& shape = *config.layers[layer].attention();
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    table.vector(name("attn_norm.weight"), config.width);
    if (shape.output_gate) {
        table.interleaved(
            name("attn_q.weight"),
            {{name("attn_q.weight"), shape.head_dim}, {name(gate_name) + ".weight", shape.head_dim}},
            shape.q_heads, config.width);
        table.matrix(name("attn_k.weight"), shape.kv_width(), config.width);
        table.matrix(name("attn_v.weight"), shape.kv_width(), config.width);
    } else {
        std::vector<TensorPart> parts{{name("attn_q.weight"), shape.q_width()}};
        if (!shape.keys_of)
            parts.push_back({name("attn_k.weight"), shape.kv_width()});
        if (!shape.keys_of && !shape.values_are_keys)
            parts.push_back({name("attn_v.weight"), shape.kv_width()});
        table.projections(tensors.storage, name("attn_qkv.weight"), std::move(parts), config.width);
    }
    if (shape.keys_of) { // files may have the weights for its own, which nothing reads
        table.ignore(name("attn_k"));
        table.ignore(name("attn_v"));
    }
    table.matrix(name("attn_output.weight"), config.width, shape.q_width());
    if (tensors.biases != Biases::none) {
        const Presence presence = tensors.biases == Biases::any ? Presence::optional : Presence::required;
        table.vector(name("attn_q.bias"), shape.q_width(), presence);
        table.vector(name("attn_k.bias"), shape.kv_width(), presence);
        table.vector(name("attn_v.bias"), shape.kv_width(), presence);
    }
    if (tensors.biases == Biases::any || tensors.biases == Biases::all) {
        table.vector(name("attn_output.bias"), config.width,
                     tensors.biases == Biases::any ? Presence::optional : Presence::required);
    }
    if (tensors.sinks)
        table.vector(name("attn_sinks.weight"), shape.q_heads);
    if (tensors.head_norms || tensors.may_have_head_norms) {
        const Presence presence = tensors.head_norms ? Presence::required : Presence::optional;
        table.vector(name("attn_q_norm.weight"), shape.head_dim, presence);
        if (!shape.keys_of)
            table.vector(name("attn_k_norm.weight"), shape.head_dim, presence);
    }
    if (tensors.post_norm)
        table.vector(post_norm_name(layer), config.width);
}

AttentionBlock attention_block(const Weights& weights, const Config& config, uint32_t layer) {
    const AttentionConfig& shape = *config.layers[layer].attention();
    const RotaryConfig& rotary = config.cache_groups[shape.group].rotary;
    const bool has_post_norm = config.feed_forward_norm_of(layer) != post_attention_norm;
    return {
        .norm = {.weight = weights.vector(tensor_name(layer, "attn_norm.weight")),
                 .epsilon = config.rms_epsilon,
                 .nan_probe = attention_nan_probe(layer),
                 .bias = weights.find_vector(tensor_name(layer, "attn_norm.bias")),
                 .subtracts_mean = config.has_layer_norms,
                 .replaces_residual = config.has_post_norms || (config.norms_embedding && layer == 0)},
        .q = linear_weights(weights, layer, "attn_q"),
        .k = shape.keys_of ? std::nullopt : std::optional(linear_weights(weights, layer, "attn_k")),
        .v = shape.keys_of || shape.values_are_keys ? std::nullopt
                                                    : std::optional(linear_weights(weights, layer, "attn_v")),
        .output = {.weights = linear_weights(weights, layer, "attn_output"),
                   .post_norm = {.weight = has_post_norm ? weights.find_vector(post_norm_name(layer))
                                                         : std::nullopt,
                                 .epsilon = config.rms_epsilon},
                   .next_norm = std::nullopt},
        .q_norm = weights.find_vector(tensor_name(layer, "attn_q_norm.weight")),
        .k_norm = weights.find_vector(tensor_name(layer, "attn_k_norm.weight")),
        .norms_values = shape.norms_values,
        .epsilon = config.rms_epsilon,
        .q_heads = shape.q_heads,
        .head_dim = shape.head_dim,
        .rotated = shape.rotates ? rotary.dims : 0,
        .pairs = rotary.pairs,
        .scale = config.attention_scale,
        .temperature_scale = config.temperature_scale,
        .temperature_tokens = config.temperature_tokens,
        .alibi = shape.alibi,
        .softcap = config.attention_softcap,
        .group = shape.group,
        .gate = shape.output_gate ? std::optional(linear_weights(weights, layer, gate_name)) : std::nullopt,
        .sinks = weights.find_vector(tensor_name(layer, "attn_sinks.weight"))};
}

std::vector<const LinearWeights*> readers(const AttentionBlock& block) {
    std::vector<const LinearWeights*> readers{&block.q};
    for (const auto* part : {&block.k, &block.v, &block.gate}) {
        if (*part)
            readers.push_back(&**part);
    }
    return readers;
}

/// heads_linear requires separate key and value matrices, and stores values without a norm.
void fuse(AttentionBlock& block, const kernels::PlanTarget& target) {
    block.is_heads_fused =
        block.k && block.v && !block.norms_values &&
        std::ranges::all_of(std::array{&block.q, &*block.k, &*block.v}, [&](const LinearWeights* one) {
            return kernels::can_fuse_heads(target, one->weight, block.head_dim);
        });
}

OwnedMixer make_mixer(const AttentionConfig& attention, const Weights& weights, const Config& config,
                      uint32_t layer) {
    return attention.latent ? mixer_of(latent_attention_block(weights, config, layer))
                            : mixer_of(attention_block(weights, config, layer));
}

void record(const Recording& recording, const AttentionBlock& block, const LayerState& state) {
    const kernels::LayerCache& cache = state.cache;
    const Arena::Scope scope(recording.arena);
    const HeadRows heads = take_head_rows(recording, block, cache);
    record_heads_input(recording, block, cache, heads);
    record_scores(recording, block.group, [&](const RowRange& range, const kernels::AttendMax& attend_max) {
        return attention_of(recording, block, cache, heads, range, attend_max);
    });
    record_heads_output(recording, block, heads);
}

} // namespace etna::model
