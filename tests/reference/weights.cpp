#include "tests/reference/weights.hpp"

#include <set>
#include <string>
#include <string_view>

namespace etna::reference {
namespace {

// Hands out tensors by name and remembers which ones were asked for.
class Tensors {
public:
    explicit Tensors(const gguf::File& file) : file_(file) {}

    [[nodiscard]] bool has(const std::string& name) const { return file_.find_tensor(name) != nullptr; }

    /// Of a matrix; 0 if the file does not have it.
    [[nodiscard]] std::size_t rows(const std::string& name) const {
        const gguf::Tensor* tensor = file_.find_tensor(name);
        return tensor == nullptr ? 0 : tensor->shape[1];
    }

    Result<Matrix> matrix(const std::string& name, std::size_t rows, std::size_t columns) {
        const gguf::Tensor* tensor = file_.find_tensor(name);
        if (tensor == nullptr)
            return refuse(ErrorKind::corrupt, name, "is missing");
        if (!can_decode(tensor->type))
            return refuse(ErrorKind::unsupported, name, "has a type without decoder");
        if (tensor->shape != std::array<uint64_t, 4>{columns, rows, 1, 1})
            return refuse(ErrorKind::corrupt, name, "has the wrong shape");
        claimed_.insert(name);
        ETNA_TRY(const auto content, content_of(*tensor));
        return decode_matrix(*tensor, content);
    }

    // `count` contiguous matrices of equal shape.
    Result<std::vector<Matrix>> stack(const std::string& name, std::size_t count, std::size_t rows,
                                      std::size_t columns) {
        const gguf::Tensor* tensor = file_.find_tensor(name);
        if (tensor == nullptr)
            return refuse(ErrorKind::corrupt, name, "is missing");
        if (!can_decode(tensor->type))
            return refuse(ErrorKind::unsupported, name, "has a type without decoder");
        if (tensor->shape != std::array<uint64_t, 4>{columns, rows, count, 1})
            return refuse(ErrorKind::corrupt, name, "has the wrong shape");
        claimed_.insert(name);
        ETNA_TRY(const auto content, content_of(*tensor));
        std::vector<Matrix> matrices;
        const std::size_t matrix_bytes = content.size() / count;
        for (std::size_t i = 0; i < count; ++i) {
            gguf::Tensor one = *tensor;
            one.shape = {columns, rows, 1, 1};
            matrices.push_back(decode_matrix(one, ByteView(content).subspan(i * matrix_bytes, matrix_bytes)));
        }
        return matrices;
    }

    Result<Vector> vector(const std::string& name, std::size_t length) {
        ETNA_TRY(Matrix one_row, matrix(name, 1, length));
        return std::move(one_row.values);
    }

    Result<Vector> optional_vector(const std::string& name, std::size_t length) {
        return has(name) ? vector(name, length) : Result<Vector>(Vector());
    }

    /// Claims a tensor that nothing reads.
    void skip(const std::string& name) { claimed_.insert(name); }

    /// But for tensors of layers after the first `layers`, which nothing reads.
    [[nodiscard]] Status all_claimed(std::size_t layers) const {
        for (const gguf::Tensor& tensor : file_.tensors()) {
            if (!claimed_.contains(tensor.name) && !is_after(tensor.name, layers))
                return refuse(ErrorKind::corrupt, tensor.name, "belongs to nothing");
        }
        return {};
    }

private:
    static bool is_after(const std::string& name, std::size_t layers) {
        return name.starts_with("blk.") && std::stoul(name.substr(4)) >= layers;
    }

    [[nodiscard]] Result<std::vector<std::byte>> content_of(const gguf::Tensor& tensor) const {
        std::vector<std::byte> content(tensor.bytes);
        ETNA_CHECK(file_.read(tensor, 0, content));
        return content;
    }

    [[nodiscard]] Error refuse(ErrorKind kind, const std::string& name, std::string_view problem) const {
        return {.kind = kind, .message = file_.name() + ": tensor `" + name + "` " + std::string(problem)};
    }

    const gguf::File& file_;
    std::set<std::string> claimed_;
};

// Rows [first, first + count) as a separate matrix.
Matrix rows_of(const Matrix& whole, std::size_t first, std::size_t count) {
    Matrix part{.rows = count, .columns = whole.columns, .values = {}, .type = whole.type};
    const auto copy = [&](const std::vector<double>& from, std::vector<double>& to) {
        const View rows = View(from).subspan(first * whole.columns, count * whole.columns);
        to.assign(rows.begin(), rows.end());
    };
    copy(whole.values, part.values);
    if (!whole.in_half.empty())
        copy(whole.in_half, part.in_half);
    return part;
}

// One matrix above another.
Matrix stacked(Matrix upper, const Matrix& lower) {
    upper.rows += lower.rows;
    upper.values.insert(upper.values.end(), lower.values.begin(), lower.values.end());
    upper.in_half.insert(upper.in_half.end(), lower.in_half.begin(), lower.in_half.end());
    return upper;
}

// Of a matrix whose rows repeat pieces of these lengths, the rows of piece `which` of every repetition.
Matrix piece_of(const Matrix& whole, const std::vector<std::size_t>& lengths, std::size_t which) {
    Matrix part{.rows = 0, .columns = whole.columns, .values = {}, .type = whole.type};
    for (std::size_t row = 0; row < whole.rows;) {
        for (std::size_t piece = 0; piece < lengths.size(); row += lengths[piece++]) {
            if (piece != which)
                continue;
            part = stacked(std::move(part), rows_of(whole, row, lengths[piece]));
        }
    }
    return part;
}

bool has_post_norms(const Config& config) {
    return config.architecture == "gemma2" || config.architecture == "gemma3" ||
           config.architecture == "gemma3n" || config.architecture == "gemma4" ||
           config.architecture == "glm4";
}

// gemma4: a layer without attn_v has its keys as values, one that reads another's keys has neither.
Status load_gemma4_attention(Tensors& tensors, const Config& config, const Config::Layer& shape,
                             const std::string& block, LayerWeights& layer) {
    const std::size_t query_length = config.heads * shape.head_length;
    const std::size_t kv_length = shape.kv_heads * shape.head_length;
    ETNA_TRY(layer.attention_norm, tensors.vector(block + "attn_norm.weight", config.width));
    ETNA_TRY(layer.query, tensors.matrix(block + "attn_q.weight", query_length, config.width));
    ETNA_TRY(layer.query_norm, tensors.vector(block + "attn_q_norm.weight", shape.head_length));
    ETNA_TRY(layer.attention_output,
             tensors.matrix(block + "attn_output.weight", config.width, query_length));
    ETNA_TRY(layer.post_attention_norm, tensors.vector(block + "post_attention_norm.weight", config.width));
    if (shape.keys_of) {
        for (const char* unused : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"})
            tensors.skip(block + unused);
        return {};
    }
    ETNA_TRY(layer.key, tensors.matrix(block + "attn_k.weight", kv_length, config.width));
    ETNA_TRY(layer.key_norm, tensors.vector(block + "attn_k_norm.weight", shape.head_length));
    layer.value = layer.key;
    if (tensors.has(block + "attn_v.weight")) {
        ETNA_TRY(layer.value, tensors.matrix(block + "attn_v.weight", kv_length, config.width));
    }
    return {};
}

// Of gemma4: the layer's own input and the scale of its output.
Status load_layer_input(Tensors& tensors, const Config& config, const std::string& block,
                        LayerWeights& layer) {
    const std::size_t width = config.per_layer_width;
    ETNA_TRY(layer.output_scale, tensors.optional_vector(block + "layer_output_scale.weight", 1));
    if (width == 0)
        return {};
    ETNA_TRY(layer.input_gate, tensors.matrix(block + "inp_gate.weight", width, config.width));
    ETNA_TRY(layer.input_output, tensors.matrix(block + "proj.weight", config.width, width));
    ETNA_TRY(layer.post_input_norm, tensors.vector(block + "post_norm.weight", config.width));
    return {};
}

// Of gemma3n: AltUp and Laurel. The rank of Laurel is that of its tensors.
Status load_altup(Tensors& tensors, const Config& config, const std::string& block, LayerWeights& layer) {
    const std::size_t streams = config.streams;
    const std::size_t rank = tensors.rows(block + "laurel_l.weight");
    layer.altup.epsilon = config.epsilon;
    ETNA_TRY(layer.altup.router, tensors.matrix(block + "altup_router.weight", streams, config.width));
    ETNA_TRY(layer.altup.router_norm, tensors.vector(block + "altup_router_norm.weight", config.width));
    ETNA_TRY(layer.altup.prediction,
             tensors.matrix(block + "altup_predict_coef.weight", streams * streams, streams));
    ETNA_TRY(layer.altup.correction, tensors.matrix(block + "altup_correct_coef.weight", streams, streams));
    ETNA_TRY(layer.altup_scale, tensors.vector(block + "altup_correct_scale.weight", config.width));
    ETNA_TRY(layer.laurel_left, tensors.matrix(block + "laurel_l.weight", rank, config.width));
    ETNA_TRY(layer.laurel_right, tensors.matrix(block + "laurel_r.weight", config.width, rank));
    ETNA_TRY(layer.laurel_norm, tensors.vector(block + "laurel_post_norm.weight", config.width));
    return {};
}

Status load_attention(Tensors& tensors, const Config& config, const std::string& block, LayerWeights& layer) {
    const std::size_t query_length = config.heads * config.head_length;
    const std::size_t kv_length = config.kv_heads * config.head_length;
    ETNA_TRY(layer.attention_norm, tensors.vector(block + "attn_norm.weight", config.width));
    if (config.architecture == "phi3") {
        ETNA_TRY(const Matrix fused,
                 tensors.matrix(block + "attn_qkv.weight", query_length + 2 * kv_length, config.width));
        layer.query = rows_of(fused, 0, query_length);
        layer.key = rows_of(fused, query_length, kv_length);
        layer.value = rows_of(fused, query_length + kv_length, kv_length);
    } else if (has_delta_nets(config)) {
        ETNA_TRY(const Matrix both, tensors.matrix(block + "attn_q.weight", 2 * query_length, config.width));
        layer.query = piece_of(both, {config.head_length, config.head_length}, 0);
        layer.query_gate = piece_of(both, {config.head_length, config.head_length}, 1);
        ETNA_TRY(layer.key, tensors.matrix(block + "attn_k.weight", kv_length, config.width));
        ETNA_TRY(layer.value, tensors.matrix(block + "attn_v.weight", kv_length, config.width));
    } else {
        ETNA_TRY(layer.query, tensors.matrix(block + "attn_q.weight", query_length, config.width));
        ETNA_TRY(layer.key, tensors.matrix(block + "attn_k.weight", kv_length, config.width));
        ETNA_TRY(layer.value, tensors.matrix(block + "attn_v.weight", kv_length, config.width));
    }
    ETNA_TRY(layer.query_bias, tensors.optional_vector(block + "attn_q.bias", query_length));
    ETNA_TRY(layer.key_bias, tensors.optional_vector(block + "attn_k.bias", kv_length));
    ETNA_TRY(layer.value_bias, tensors.optional_vector(block + "attn_v.bias", kv_length));
    const bool has_norms = config.architecture.starts_with("qwen3") || config.architecture == "gemma3" ||
                           is_lfm2(config) || tensors.has(block + "attn_q_norm.weight");
    if (has_norms) {
        ETNA_TRY(layer.query_norm, tensors.vector(block + "attn_q_norm.weight", config.head_length));
        ETNA_TRY(layer.key_norm, tensors.vector(block + "attn_k_norm.weight", config.head_length));
    }
    ETNA_TRY(layer.attention_output,
             tensors.matrix(block + "attn_output.weight", config.width, query_length));
    if (config.architecture == "gpt-oss") {
        ETNA_TRY(layer.output_bias, tensors.vector(block + "attn_output.bias", config.width));
        ETNA_TRY(layer.sinks, tensors.vector(block + "attn_sinks.weight", config.heads));
    }
    if (has_post_norms(config)) {
        ETNA_TRY(layer.post_attention_norm,
                 tensors.vector(block + "post_attention_norm.weight", config.width));
    }
    return {};
}

// qwen3next: each key head has its rows of q and k, then those of v and the gate of its value heads; the
// gates of all value heads of a key head are neighbours, beta's before alpha's.
Status load_grouped_projections(Tensors& tensors, const Config& config, const std::string& block,
                                DeltaNetWeights& net) {
    const DeltaHeads& heads = config.delta_heads;
    const std::size_t each = heads.value_heads / heads.key_heads;
    const std::size_t values = each * heads.value_length;
    const std::size_t rows = heads.key_heads * 2 * (heads.key_length + values);
    ETNA_TRY(const Matrix gates,
             tensors.matrix(block + "ssm_ba.weight", 2 * heads.value_heads, config.width));
    net.beta = piece_of(gates, {each, each}, 0);
    net.alpha = piece_of(gates, {each, each}, 1);
    if (!tensors.has(block + "ssm_in.weight"))
        return {};
    ETNA_TRY(const Matrix inputs, tensors.matrix(block + "ssm_in.weight", rows, config.width));
    const std::vector<std::size_t> lengths{heads.key_length, heads.key_length, values, values};
    net.qkv = stacked(stacked(piece_of(inputs, lengths, 0), piece_of(inputs, lengths, 1)),
                      piece_of(inputs, lengths, 2));
    net.gate = piece_of(inputs, lengths, 3);
    return {};
}

Status load_delta_net(Tensors& tensors, const Config& config, const std::string& block, LayerWeights& layer) {
    const DeltaHeads& heads = config.delta_heads;
    const std::size_t values = heads.value_heads * heads.value_length;
    const std::size_t channels = 2 * heads.key_heads * heads.key_length + values;
    DeltaNetWeights& net = layer.delta_net;
    ETNA_TRY(layer.attention_norm, tensors.vector(block + "attn_norm.weight", config.width));
    if (config.architecture == "qwen3next") {
        ETNA_CHECK(load_grouped_projections(tensors, config, block, net));
    } else {
        ETNA_TRY(net.alpha, tensors.matrix(block + "ssm_alpha.weight", heads.value_heads, config.width));
        ETNA_TRY(net.beta, tensors.matrix(block + "ssm_beta.weight", heads.value_heads, config.width));
    }
    if (net.qkv.rows == 0) {
        ETNA_TRY(net.qkv, tensors.matrix(block + "attn_qkv.weight", channels, config.width));
        ETNA_TRY(net.gate, tensors.matrix(block + "attn_gate.weight", values, config.width));
    }
    ETNA_TRY(net.convolution,
             tensors.matrix(block + "ssm_conv1d.weight", channels, config.convolution_width));
    ETNA_TRY(net.decay, tensors.vector(block + "ssm_a", heads.value_heads));
    ETNA_TRY(net.dt_bias, tensors.vector(block + "ssm_dt.bias", heads.value_heads));
    ETNA_TRY(net.norm, tensors.vector(block + "ssm_norm.weight", heads.value_length));
    ETNA_TRY(net.output, tensors.matrix(block + "ssm_out.weight", config.width, values));
    return {};
}

Status load_short_convolution(Tensors& tensors, const Config& config, const std::string& block,
                              LayerWeights& layer) {
    ConvolutionWeights& mixer = layer.short_convolution;
    ETNA_TRY(layer.attention_norm, tensors.vector(block + "attn_norm.weight", config.width));
    ETNA_TRY(mixer.input, tensors.matrix(block + "shortconv.in_proj.weight", 3 * config.width, config.width));
    ETNA_TRY(mixer.convolution,
             tensors.matrix(block + "shortconv.conv.weight", config.width, config.convolution_width));
    ETNA_TRY(mixer.output, tensors.matrix(block + "shortconv.out_proj.weight", config.width, config.width));
    return {};
}

Status load_mamba(Tensors& tensors, const Config& config, const std::string& block, LayerWeights& layer) {
    const Mamba2Heads& heads = config.mamba_heads;
    const std::size_t inner = heads.heads * heads.head_length;
    const std::size_t channels = inner + 2 * heads.groups * heads.state_length;
    Mamba2Weights& mamba = layer.mamba;
    ETNA_TRY(layer.attention_norm, tensors.vector(block + "attn_norm.weight", config.width));
    ETNA_TRY(mamba.input,
             tensors.matrix(block + "ssm_in.weight", inner + channels + heads.heads, config.width));
    ETNA_TRY(mamba.convolution,
             tensors.matrix(block + "ssm_conv1d.weight", channels, config.convolution_width));
    ETNA_TRY(mamba.convolution_bias, tensors.optional_vector(block + "ssm_conv1d.bias", channels));
    ETNA_TRY(Matrix decay, tensors.matrix(block + "ssm_a", heads.heads, 1));
    ETNA_TRY(Matrix skip, tensors.matrix(block + "ssm_d", heads.heads, 1));
    mamba.decay = std::move(decay.values);
    mamba.skip = std::move(skip.values);
    ETNA_TRY(mamba.dt_bias, tensors.vector(block + "ssm_dt.bias", heads.heads));
    if (config.architecture != "falcon-h1" || tensors.has(block + "ssm_norm.weight")) {
        ETNA_TRY(mamba.norm, tensors.matrix(block + "ssm_norm.weight", heads.groups, inner / heads.groups));
    }
    ETNA_TRY(mamba.output, tensors.matrix(block + "ssm_out.weight", config.width, inner));
    return {};
}

Status load_latent_attention(Tensors& tensors, const Config& config, const std::string& block,
                             LayerWeights& layer) {
    const LatentShape& shape = config.latent;
    const std::size_t query_length = config.heads * config.head_length;
    LatentWeights& latent = layer.latent;
    ETNA_TRY(layer.attention_norm, tensors.vector(block + "attn_norm.weight", config.width));
    if (shape.query_rank > 0) {
        ETNA_TRY(latent.query_down,
                 tensors.matrix(block + "attn_q_a.weight", shape.query_rank, config.width));
        ETNA_TRY(latent.query_norm, tensors.vector(block + "attn_q_a_norm.weight", shape.query_rank));
        ETNA_TRY(latent.query, tensors.matrix(block + "attn_q_b.weight", query_length, shape.query_rank));
    } else {
        ETNA_TRY(latent.query, tensors.matrix(block + "attn_q.weight", query_length, config.width));
    }
    ETNA_TRY(latent.down,
             tensors.matrix(block + "attn_kv_a_mqa.weight", shape.rank + shape.rotated, config.width));
    ETNA_TRY(latent.norm, tensors.vector(block + "attn_kv_a_norm.weight", shape.rank));
    ETNA_TRY(latent.keys,
             tensors.stack(block + "attn_k_b.weight", config.heads, shape.rank, shape.unrotated));
    ETNA_TRY(latent.values,
             tensors.stack(block + "attn_v_b.weight", config.heads, shape.value_length, shape.rank));
    ETNA_TRY(layer.attention_output,
             tensors.matrix(block + "attn_output.weight", config.width, config.heads * shape.value_length));
    return {};
}

Status load_mixer(Tensors& tensors, const Config& config, std::size_t index, const std::string& block,
                  LayerWeights& layer) {
    if (!config.has_mixer[index])
        return {};
    if (config.architecture == "gemma3n" || config.architecture == "gemma4")
        return load_gemma4_attention(tensors, config, config.shapes[index], block, layer);
    if (config.latent.rank > 0)
        return load_latent_attention(tensors, config, block, layer);
    if (config.architecture == "falcon-h1")
        ETNA_CHECK(load_attention(tensors, config, block, layer));
    if (!config.recurrent[index])
        return load_attention(tensors, config, block, layer);
    if (has_mamba(config))
        return load_mamba(tensors, config, block, layer);
    if (is_lfm2(config))
        return load_short_convolution(tensors, config, block, layer);
    return load_delta_net(tensors, config, block, layer);
}

Status load_shared_expert(Tensors& tensors, const Config& config, const std::string& block,
                          LayerWeights& layer) {
    const std::size_t length = config.shared_feed_forward;
    if (config.architecture.starts_with("qwen")) {
        ETNA_TRY(layer.shared_row_gate, tensors.matrix(block + "ffn_gate_inp_shexp.weight", 1, config.width));
    }
    if (!is_nemotron(config)) {
        ETNA_TRY(layer.shared_gate, tensors.matrix(block + "ffn_gate_shexp.weight", length, config.width));
    }
    ETNA_TRY(layer.shared_up, tensors.matrix(block + "ffn_up_shexp.weight", length, config.width));
    ETNA_TRY(layer.shared_down, tensors.matrix(block + "ffn_down_shexp.weight", config.width, length));
    return {};
}

/// Gates and ups of experts; an expert's gate and up may be one matrix above the other.
Status load_gates_and_ups(Tensors& tensors, const Config& config, const std::string& block,
                          LayerWeights& layer) {
    const std::size_t count = config.experts;
    const std::size_t length = config.expert_feed_forward;
    if (!tensors.has(block + "ffn_gate_up_exps.weight")) {
        ETNA_TRY(layer.expert_ups, tensors.stack(block + "ffn_up_exps.weight", count, length, config.width));
        if (is_nemotron(config))
            return {};
        ETNA_TRY(layer.expert_gates,
                 tensors.stack(block + "ffn_gate_exps.weight", count, length, config.width));
        return {};
    }
    ETNA_TRY(const auto both,
             tensors.stack(block + "ffn_gate_up_exps.weight", count, 2 * length, config.width));
    for (const Matrix& one : both) {
        layer.expert_gates.push_back(rows_of(one, 0, length));
        layer.expert_ups.push_back(rows_of(one, length, length));
    }
    return {};
}

Status load_experts(Tensors& tensors, const Config& config, const std::string& block, LayerWeights& layer) {
    const std::size_t count = config.experts;
    const std::size_t length = config.expert_feed_forward;
    ETNA_TRY(layer.router, tensors.matrix(block + "ffn_gate_inp.weight", count, config.width));
    ETNA_CHECK(load_gates_and_ups(tensors, config, block, layer));
    ETNA_TRY(layer.expert_downs, tensors.stack(block + "ffn_down_exps.weight", count, config.width, length));
    const bool may_lack_bias = config.architecture == "deepseek2" && !tensors.has(block + "exp_probs_b.bias");
    if (config.routing.is_sigmoid && !may_lack_bias) {
        ETNA_TRY(layer.selection_bias, tensors.vector(block + "exp_probs_b.bias", count));
    }
    if (config.shared_feed_forward > 0)
        ETNA_CHECK(load_shared_expert(tensors, config, block, layer));
    if (config.architecture == "gpt-oss") {
        ETNA_TRY(layer.router_bias, tensors.vector(block + "ffn_gate_inp.bias", count));
        ETNA_TRY(layer.expert_gate_biases, tensors.matrix(block + "ffn_gate_exps.bias", count, length));
        ETNA_TRY(layer.expert_up_biases, tensors.matrix(block + "ffn_up_exps.bias", count, length));
        ETNA_TRY(layer.expert_down_biases, tensors.matrix(block + "ffn_down_exps.bias", count, config.width));
    }
    return {};
}

// gemma4: in parallel with the dense network.
Status load_gemma4_experts(Tensors& tensors, const Config& config, const std::string& block,
                           LayerWeights& layer) {
    const std::size_t count = config.experts;
    const std::size_t length = config.expert_feed_forward;
    ETNA_TRY(layer.router, tensors.matrix(block + "ffn_gate_inp.weight", count, config.width));
    ETNA_TRY(layer.router_scale, tensors.vector(block + "ffn_gate_inp.scale", config.width));
    ETNA_TRY(layer.expert_scales, tensors.optional_vector(block + "ffn_down_exps.scale", count));
    ETNA_TRY(layer.expert_norm, tensors.vector(block + "pre_ffw_norm_2.weight", config.width));
    ETNA_TRY(layer.post_dense_norm, tensors.vector(block + "post_ffw_norm_1.weight", config.width));
    ETNA_TRY(layer.post_expert_norm, tensors.vector(block + "post_ffw_norm_2.weight", config.width));
    ETNA_TRY(layer.expert_downs, tensors.stack(block + "ffn_down_exps.weight", count, config.width, length));
    return load_gates_and_ups(tensors, config, block, layer);
}

Status load_feed_forward(Tensors& tensors, const Config& config, std::size_t index, const std::string& block,
                         LayerWeights& layer) {
    const std::size_t feed_forward = config.shapes[index].feed_forward;
    const bool is_after_mixer =
        config.architecture == "gpt-oss" || config.architecture == "glm4moe" || has_delta_nets(config);
    const bool is_of_draft_head = index == config.layers; // in nemotron_h_moe with attention
    const std::string norm = is_after_mixer || (is_nemotron(config) && is_of_draft_head)
                                 ? "post_attention_norm.weight"
                             : is_nemotron(config) ? "attn_norm.weight"
                                                   : "ffn_norm.weight";
    ETNA_TRY(layer.feed_forward_norm,
             tensors.vector(block + (config.architecture == "falcon-h1" ? "ffn_norm" : norm), config.width));
    if (has_post_norms(config)) {
        ETNA_TRY(layer.post_feed_forward_norm, tensors.vector(block + "post_ffw_norm.weight", config.width));
    }
    if (config.experts > 0 && config.architecture == "gemma4") {
        ETNA_CHECK(load_gemma4_experts(tensors, config, block, layer));
    } else if (config.experts > 0 && index >= config.dense_layers)
        return load_experts(tensors, config, block, layer);
    if (config.architecture == "phi3" || config.architecture == "glm4") {
        ETNA_TRY(const Matrix fused,
                 tensors.matrix(block + "ffn_up.weight", 2 * config.feed_forward, config.width));
        layer.gate = rows_of(fused, 0, config.feed_forward);
        layer.up = rows_of(fused, config.feed_forward, config.feed_forward);
    } else {
        if (!is_nemotron(config)) {
            ETNA_TRY(layer.gate, tensors.matrix(block + "ffn_gate.weight", feed_forward, config.width));
        }
        ETNA_TRY(layer.up, tensors.matrix(block + "ffn_up.weight", feed_forward, config.width));
    }
    ETNA_TRY(layer.down, tensors.matrix(block + "ffn_down.weight", config.width, feed_forward));
    return {};
}

Result<LayerWeights> load_layer(Tensors& tensors, const Config& config, std::size_t index) {
    const std::string block = "blk." + std::to_string(index) + ".";
    LayerWeights layer;
    ETNA_CHECK(load_mixer(tensors, config, index, block, layer));
    if (config.has_feed_forward[index])
        ETNA_CHECK(load_feed_forward(tensors, config, index, block, layer));
    if (config.architecture == "gemma3n" || config.architecture == "gemma4")
        ETNA_CHECK(load_layer_input(tensors, config, block, layer));
    if (config.architecture == "gemma3n")
        ETNA_CHECK(load_altup(tensors, config, block, layer));
    return layer;
}

/// Tensors that the file leaves out are the model's.
Status load_draft_head(Tensors& tensors, const Config& config, Weights& weights) {
    const std::string block = "blk." + std::to_string(config.layers) + ".nextn.";
    DraftHeadWeights& head = weights.draft_head;
    ETNA_TRY(LayerWeights layer, load_layer(tensors, config, config.layers));
    weights.layers.push_back(std::move(layer));
    ETNA_TRY(head.projection, tensors.matrix(block + "eh_proj.weight", config.width, 2 * config.width));
    ETNA_TRY(head.embedding_norm, tensors.vector(block + "enorm.weight", config.width));
    ETNA_TRY(head.hidden_norm, tensors.vector(block + "hnorm.weight", config.width));
    head.embedding = weights.embedding;
    head.output_norm = weights.output_norm;
    head.head = weights.head;
    if (tensors.has(block + "embed_tokens.weight")) {
        ETNA_TRY(head.embedding,
                 tensors.matrix(block + "embed_tokens.weight", weights.embedding.rows, config.width));
    }
    if (tensors.has(block + "shared_head_norm.weight")) {
        ETNA_TRY(head.output_norm, tensors.vector(block + "shared_head_norm.weight", config.width));
    }
    if (tensors.has(block + "shared_head_head.weight")) {
        ETNA_TRY(head.head,
                 tensors.matrix(block + "shared_head_head.weight", weights.embedding.rows, config.width));
    }
    return {};
}

} // namespace

Result<Weights> load_weights(const gguf::File& file, const Config& config) {
    const gguf::Tensor* embedding = file.find_tensor("token_embd.weight");
    const std::size_t vocabulary = embedding == nullptr ? 0 : embedding->shape[1];
    Tensors tensors(file);
    Weights weights;
    ETNA_TRY(weights.embedding, tensors.matrix("token_embd.weight", vocabulary, config.width));
    const std::string norm = is_lfm2(config) ? "token_embd_norm" : "output_norm";
    ETNA_TRY(weights.output_norm, tensors.vector(norm + ".weight", config.width));
    weights.head = weights.embedding;
    if (tensors.has("output.weight")) {
        ETNA_TRY(weights.head, tensors.matrix("output.weight", vocabulary, config.width));
    }
    ETNA_TRY(weights.rotary_divisors,
             tensors.optional_vector("rope_freqs.weight", config.rotary.rotated / 2));
    if (tensors.has("rope_factors_long.weight")) {
        ETNA_TRY(weights.short_rotary_divisors,
                 tensors.vector("rope_factors_short.weight", config.rotary.rotated / 2));
        ETNA_TRY(weights.long_rotary_divisors,
                 tensors.vector("rope_factors_long.weight", config.rotary.rotated / 2));
    }
    if (const std::size_t widths = config.layers * config.per_layer_width; widths > 0) {
        ETNA_TRY(weights.layer_embedding, tensors.matrix("per_layer_token_embd.weight", vocabulary, widths));
        ETNA_TRY(weights.layer_projection,
                 tensors.matrix("per_layer_model_proj.weight", widths, config.width));
        ETNA_TRY(weights.layer_projection_norm,
                 tensors.vector("per_layer_proj_norm.weight", config.per_layer_width));
    }
    if (config.streams > 1) {
        ETNA_TRY(weights.stream_expansions,
                 tensors.stack("altup_proj.weight", config.streams - 1, config.width, config.width));
        ETNA_TRY(weights.stream_merges,
                 tensors.stack("altup_unembd_proj.weight", config.streams - 1, config.width, config.width));
    }
    for (std::size_t index = 0; index < config.layers; ++index) {
        ETNA_TRY(LayerWeights layer, load_layer(tensors, config, index));
        weights.layers.push_back(std::move(layer));
    }
    if (config.has_draft_head)
        ETNA_CHECK(load_draft_head(tensors, config, weights));
    ETNA_CHECK(tensors.all_claimed(config.layers + (config.has_draft_head ? 1 : 0)));
    return weights;
}

} // namespace etna::reference
