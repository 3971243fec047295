#include "core/model/workspace.hpp"

#include "core/kernels/attention.hpp"
#include "core/kernels/fused_linear.hpp"
#include "core/kernels/heads_linear.hpp"
#include "core/kernels/sample.hpp"
#include "core/vk/recorder.hpp"
#include "core/vk/sub_allocator.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace etna::model {
namespace {

/// If more rows attend than fit here, their partials are computed in several passes; one row always fits.
constexpr uint64_t attention_partial_bytes_target = 64 * mebibyte;

/// A member of Activations and the size it needs.
struct ActivationSize {
    kernels::Activations Activations::* member;
    std::string_view label;
    uint32_t rows;
    uint32_t columns;
    bool feeds_matrices = false; ///< matrices in tiles read its halves

    [[nodiscard]] uint64_t bytes() const {
        return uint64_t{rows} * kernels::padded_columns(columns) * sizeof(float);
    }
};
struct ScratchSize {
    vk::Range Activations::* member;
    std::string_view label;
    uint64_t bytes;
};

/// Scratch memory of the mixers that only some models have.
void add_mixer_sizes(std::vector<ActivationSize>& sizes, const Config& config, uint32_t rows) {
    if (config.max_of<AttentionConfig>(&AttentionConfig::output_gate)) {
        sizes.push_back({&Activations::attention_gate, "attention gate", rows,
                         config.max_of<AttentionConfig>(&AttentionConfig::q_width), true});
    }
    if (const auto queries = config.max_of<AttentionConfig>(&AttentionConfig::latent_query_width)) {
        const auto query_rank = config.max_of<AttentionConfig>(&AttentionConfig::query_rank);
        if (query_rank > 0)
            sizes.push_back({&Activations::latent_query_input, "query latent", rows, query_rank, true});
        sizes.push_back({&Activations::latent_queries, "latent queries", rows, queries});
        sizes.push_back({&Activations::latent_output, "latent output", rows,
                         config.max_of<AttentionConfig>(&AttentionConfig::latent_output_width), true});
    }
    if (const auto channels = config.max_of<ShortConvolutionConfig>(&ShortConvolutionConfig::channels)) {
        sizes.push_back({&Activations::convolution_input, "convolution input", rows, 3 * channels});
        sizes.push_back({&Activations::convolution_output, "convolution output", rows, channels, true});
    }
    const auto mamba = [&](auto number) {
        return config.max_of<Mamba2Config>([&](const Mamba2Config& one) { return number(one.shape); });
    };
    if (const auto mamba_heads = mamba([](const kernels::Mamba2Shape& shape) { return shape.heads; })) {
        const auto xbc = mamba([](const kernels::Mamba2Shape& shape) { return shape.xbc_columns(); });
        const auto output = mamba([](const kernels::Mamba2Shape& shape) { return shape.output_columns(); });
        sizes.push_back({&Activations::mamba_input, "Mamba input", rows, xbc});
        sizes.push_back({&Activations::mamba_xbc, "Mamba x, B, C", rows, xbc});
        sizes.push_back({&Activations::mamba_gate, "Mamba gate", rows, output, true});
        sizes.push_back({&Activations::mamba_dt, "Mamba dt", rows, mamba_heads});
        sizes.push_back({&Activations::mamba_output, "Mamba output", rows, output, true});
    }
    const auto largest = [&](auto number) {
        return config.max_of<DeltaNetConfig>([&](const DeltaNetConfig& net) { return number(net.shape); });
    };
    const uint32_t heads = largest([](const kernels::DeltaShape& shape) { return shape.value_heads; });
    if (heads == 0)
        return;
    const uint32_t qkv = largest([](const kernels::DeltaShape& shape) { return shape.qkv_columns(); });
    const uint32_t output = largest([](const kernels::DeltaShape& shape) { return shape.output_columns(); });
    sizes.push_back({&Activations::delta_input, "delta input", rows, qkv});
    sizes.push_back({&Activations::delta_qkv, "delta q, k, v", rows, qkv});
    sizes.push_back({&Activations::delta_gate, "delta gate", rows, output});
    sizes.push_back({&Activations::delta_alpha, "delta alpha", rows, heads});
    sizes.push_back({&Activations::delta_beta, "delta beta", rows, heads});
    sizes.push_back({&Activations::delta_output, "delta output", rows, output, true});
}

/// Scratch memory of the inputs of each layer.
void add_per_layer_sizes(std::vector<ActivationSize>& sizes, const Config& config, uint32_t rows) {
    const uint32_t width = config.per_layer_width;
    if (width == 0)
        return;
    sizes.front().feeds_matrices = true; // the residual
    sizes.push_back({&Activations::per_layer_inputs, "inputs of layers", rows, config.layer_count() * width});
    sizes.push_back(
        {&Activations::per_layer_projection, "projection for layers", rows, config.layer_count() * width});
    sizes.push_back({&Activations::per_layer_gate, "gate of layer inputs", rows, width, true});
}

/// Scratch memory of streams with alternating updates.
void add_stream_sizes(std::vector<ActivationSize>& sizes, const Config& config, uint32_t rows) {
    if (config.streams == 1)
        return;
    sizes.push_back({&Activations::streams, "streams", (config.streams - 1) * rows, config.width, true});
    sizes.push_back({&Activations::prediction, "prediction", rows, config.width});
    sizes.push_back({&Activations::laurel, "Laurel", rows, config.laurel_rank, true});
}

std::vector<ActivationSize> activation_sizes(const Config& config, const WorkspaceOptions& options) {
    const uint32_t rows = options.batch_rows_max;
    const ExpertConfig& experts = config.experts;
    const auto q_width = config.max_of<AttentionConfig>(&AttentionConfig::q_width);
    const auto output_width = config.max_of<AttentionConfig>(&AttentionConfig::output_width);
    const auto kv_width = config.max_of<AttentionConfig>(&AttentionConfig::kv_width);
    std::vector<ActivationSize> sizes{
        {&Activations::residual, "residual", rows, config.width},
        {&Activations::hidden, "hidden", rows, config.width, true},
        {&Activations::output_hidden, "output hidden", options.output_rows_max, config.width, true},
        {&Activations::logits, "logits", options.output_rows_max, config.vocabulary},
    };
    if (q_width > 0) {
        sizes.push_back({&Activations::q, "q", rows, q_width});
        sizes.push_back({&Activations::k, "k", rows, kv_width});
        sizes.push_back({&Activations::v, "v", rows, kv_width});
        sizes.push_back({&Activations::attention_output, "attention output", rows, output_width, true});
    }
    if (config.has_draft_head) // one row more than is read, because its second half begins inside a row
        sizes.push_back({&Activations::draft_input, "draft input", rows + 1, 2 * config.width, true});
    add_mixer_sizes(sizes, config, rows);
    add_per_layer_sizes(sizes, config, rows);
    add_stream_sizes(sizes, config, rows);
    if (const uint32_t inner = config.feed_forward_max(); inner > 0) {
        sizes.push_back({&Activations::gate, "gate", rows, inner, true});
        sizes.push_back({&Activations::up, "up", rows, inner});
    }
    if (experts.count > 0) {
        const uint32_t pairs = rows * experts.experts_per_token;
        sizes.push_back({&Activations::expert_gate, "experts' gate", pairs, experts.feed_forward, true});
        sizes.push_back({&Activations::expert_up, "experts' up", pairs, experts.feed_forward});
        sizes.push_back({&Activations::router, "router", rows, experts.count});
        sizes.push_back({&Activations::expert_outputs, "expert outputs", pairs, config.width});
    }
    if (experts.has_dense_branch)
        sizes.push_back({&Activations::branches, "branches", rows, config.width});
    if (experts.shared_feed_forward > 0) {
        sizes.push_back(
            {&Activations::shared_gate, "shared expert gate", rows, experts.shared_feed_forward, true});
        sizes.push_back({&Activations::shared_up, "shared expert up", rows, experts.shared_feed_forward});
        sizes.push_back({&Activations::shared_row_gate, "shared expert row gate", rows, 1});
    }
    return sizes;
}

/// Returns the bytes of the halves that a target's kernels read in addition to an activation; 0: none do.
uint64_t halves_bytes(const kernels::PlanTarget& target, const ActivationSize& size) {
    const bool is_read = size.feeds_matrices && kernels::reads_halves(target, size.columns);
    return is_read ? size.rows * kernels::halves_bytes(size.columns) : 0;
}

kernels::AttentionShape shape_of(const AttentionConfig& layer, kernels::CacheFormats formats) {
    return {.q_heads = layer.q_heads,
            .kv_heads = layer.kv_heads,
            .head_dim = layer.head_dim,
            .formats = formats,
            .latent_dim = layer.latent_dim(),
            .has_alibi = layer.alibi != 0};
}

std::vector<ScratchSize> scratch_sizes(const Config& config, const kernels::PlanTarget& target,
                                       const WorkspaceOptions& options) {
    const kernels::AttendMax all{.end = options.context_tokens, .keys = options.context_tokens};
    const auto partials = [&](uint32_t rows) {
        return config.max_of<AttentionConfig>([&](const AttentionConfig& layer) {
            const kernels::AttentionShape shape = shape_of(layer, options.cache_formats);
            using enum kernels::RowPath;
            return std::max(kernels::attention_partial_bytes(target, shape, rows, all, decode),
                            kernels::attention_partial_bytes(target, shape, rows, all, prefill));
        });
    };
    const uint64_t attention =
        std::max(partials(1), std::min(partials(options.batch_rows_max), attention_partial_bytes_target));
    const uint64_t counters = config.max_of<AttentionConfig>([&](const AttentionConfig& layer) {
        return kernels::attention_counter_bytes(target, shape_of(layer, options.cache_formats),
                                                options.batch_rows_max, all);
    });
    const uint64_t fused_counters = std::max(
        kernels::fused_counter_bytes(options.batch_rows_max,
                                     std::max(config.width, config.feed_forward_max())),
        config.max_of<AttentionConfig>([&](const AttentionConfig& layer) {
            return kernels::heads_counter_bytes(options.batch_rows_max, layer.q_heads, layer.kv_heads);
        }));
    const uint64_t sample = kernels::sample_partial_bytes(options.output_rows_max, config.vocabulary);
    constexpr uint64_t bytes_min = 16; // a buffer is never empty
    std::vector<ScratchSize> sizes{
        {&Activations::attention_partials, "attention partials",
         std::max(bytes_min, round_up(attention, 16))},
        {&Activations::attention_counters, "attention counters", std::max(bytes_min, round_up(counters, 16))},
        {&Activations::squares, "squares",
         std::max(
             bytes_min,
             round_up(config.width / kernels::tile_columns * options.batch_rows_max * sizeof(float), 16))},
        {&Activations::fused_counters, "fused counters", std::max(bytes_min, round_up(fused_counters, 16))},
        {&Activations::sample_partials, "sample partials", std::max(bytes_min, round_up(sample, 16))},
        {&Activations::nan_probes, "NaN probes",
         std::max(bytes_min, uint64_t{options.batch_rows_max} * sizeof(uint32_t))},
        {&Activations::slots, "slots", std::max(bytes_min, uint64_t{options.slots} * sizeof(uint32_t))},
    };
    const uint32_t per_token = config.experts.experts_per_token;
    if (config.experts.count > 0) {
        const uint64_t pair_bytes =
            round_up(uint64_t{options.batch_rows_max} * per_token * sizeof(uint32_t), 16);
        const uint64_t group_bytes =
            round_up(kernels::expert_group_bytes(options.batch_rows_max, per_token), 16);
        sizes.push_back({&Activations::expert_ids, "expert ids", pair_bytes});
        sizes.push_back({&Activations::routing_weights, "routing weights", pair_bytes});
        sizes.push_back({&Activations::expert_groups, "expert groups", group_bytes});
        // One of each row for the router, or of each pair and block for gate and up.
        const uint64_t counter_bytes = std::max(
            uint64_t{options.batch_rows_max} * sizeof(uint32_t),
            kernels::expert_counter_bytes(options.batch_rows_max * per_token, config.experts.feed_forward));
        sizes.push_back({&Activations::expert_counters, "expert counters",
                         std::max(bytes_min, round_up(counter_bytes, 16))});
    }
    return sizes;
}

} // namespace

std::vector<WorkspaceBuffer> workspace_buffers(const Config& config, const kernels::PlanTarget& target,
                                               const WorkspaceOptions& options) {
    std::vector<WorkspaceBuffer> buffers;
    for (const ActivationSize& size : activation_sizes(config, options)) {
        buffers.push_back({.kind = WorkspaceBuffer::Kind::activations, .bytes = size.bytes()});
        if (const uint64_t halves = halves_bytes(target, size); halves > 0)
            buffers.push_back({.kind = WorkspaceBuffer::Kind::activations, .bytes = halves});
    }
    for (const ScratchSize& size : scratch_sizes(config, target, options))
        buffers.push_back({.kind = WorkspaceBuffer::Kind::scratch, .bytes = size.bytes});
    return buffers;
}

uint64_t workspace_bytes(const Config& config, const kernels::PlanTarget& target,
                         const WorkspaceOptions& options) {
    uint64_t bytes = 0;
    for (const WorkspaceBuffer& buffer : workspace_buffers(config, target, options))
        bytes += vk::allocation_bytes(buffer.bytes);
    return bytes;
}

Result<Workspace> Workspace::create(vk::Device& device, const Config& config,
                                    const kernels::PlanTarget& target, const WorkspaceOptions& options) {
    Workspace workspace;
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device));
    const auto add = [&](uint64_t bytes, std::string_view label) -> Result<vk::Range> {
        ETNA_TRY(vk::Buffer buffer, vk::Buffer::create(device, vk::MemoryDomain::device, bytes, label));
        recorder.fill(buffer, 0, bytes, 0);
        workspace.buffers_.push_back(std::move(buffer));
        return workspace.buffers_.back().range();
    };
    for (const ActivationSize& size : activation_sizes(config, options)) {
        if (size.member == &Activations::logits)
            workspace.logits_buffer_ = workspace.buffers_.size();
        if (size.member == &Activations::hidden)
            workspace.hidden_buffer_ = workspace.buffers_.size();
        ETNA_TRY(const vk::Range range, add(size.bytes(), size.label));
        vk::Range halves;
        if (const uint64_t bytes = halves_bytes(target, size); bytes > 0) {
            ETNA_TRY(halves, add(bytes, size.label));
        }
        workspace.activations_.*size.member = {.range = range,
                                               .columns = size.columns,
                                               .stride = kernels::padded_columns(size.columns),
                                               .halves = halves};
    }
    for (const ScratchSize& size : scratch_sizes(config, target, options)) {
        ETNA_TRY(workspace.activations_.*size.member, add(size.bytes, size.label));
    }
    ETNA_TRY(vk::CommandBuffer commands, recorder.finish());
    ETNA_TRY(const uint64_t filled, device.submit(std::move(commands)));
    ETNA_CHECK(device.wait(filled));
    return workspace;
}

} // namespace etna::model
