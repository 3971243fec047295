#include "tests/reference/model.hpp"

#include "tests/reference/attention.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace etna::reference {
namespace {

Vector linear_on(Units units, const Matrix& weights, View x) {
    return units == Units::matrix ? linear_in_half(weights, x) : linear(weights, x);
}

Vector linear_with_bias(Units units, const Matrix& weights, View bias, View x) {
    Vector y = linear_on(units, weights, x);
    return bias.empty() ? y : add(y, bias);
}

// The norm over each head alone that qwen3 puts before rotation; heads [head count, head length].
Vector normalise_heads(Vector heads, View weight, double epsilon) {
    if (weight.empty())
        return heads;
    Vector normalised;
    for (std::size_t start = 0; start < heads.size(); start += weight.size()) {
        const Vector head = rms_norm(View(heads).subspan(start, weight.size()), weight, epsilon);
        normalised.insert(normalised.end(), head.begin(), head.end());
    }
    return normalised;
}

void append(const Vector& entry, Vector& entries) {
    entries.insert(entries.end(), entry.begin(), entry.end());
}

Vector gated(GateKind kind, View gate, View up) {
    switch (kind) {
    case GateKind::gelu:
        return geglu(gate, up);
    case GateKind::clamped_silu:
        return clamped_swiglu(gate, up);
    case GateKind::silu:
        break;
    }
    return swiglu(gate, up);
}

Vector normalise_if(View x, View weight, double epsilon) {
    return weight.empty() ? Vector(x.begin(), x.end()) : rms_norm(x, weight, epsilon);
}

/// In the lengths of a gated delta net's queries and keys (transformers, modeling_qwen3_next.py).
constexpr double length_epsilon = 1e-6;

/// Of gemma3n's mean squares (transformers, modeling_gemma3n.py).
constexpr double magnitude_epsilon = 1e-5;

/// The last row of the convolution of all inputs.
Vector last_convolved(const Matrix& inputs, const Matrix& weights, View bias, auto convolution) {
    const std::size_t count = std::min(inputs.rows, weights.columns);
    Matrix last{.rows = count, .columns = inputs.columns, .values = {}};
    last.values.assign(inputs.values.end() - static_cast<std::ptrdiff_t>(count * inputs.columns),
                       inputs.values.end());
    const Matrix convolved = convolution(last, weights, bias);
    const auto row = convolved.row(count - 1);
    return {row.begin(), row.end()};
}

Vector scaled(double factor, Vector x) {
    for (double& one : x)
        one *= factor;
    return x;
}

/// The sum, or x alone without a bias.
Vector add_if(Vector x, View bias) {
    return bias.empty() ? x : add(x, bias);
}

} // namespace

void Cache::truncate(std::size_t kept) {
    if (kept >= count)
        return;
    for (Layer& layer : layers) {
        assert(layer.inputs.columns == 0);
        layer.keys.resize(layer.keys.empty() ? 0 : kept * layer.entry_length);
        layer.values.resize(layer.keys.empty() ? 0 : kept * layer.value_entry_length);
    }
    count = kept;
}

Result<ReferenceModel> ReferenceModel::load(const gguf::File& file, std::size_t context_tokens) {
    ETNA_TRY(Config config, read_config(file));
    ETNA_TRY(Weights weights, load_weights(file, config));
    config.rotary.divisors = weights.rotary_divisors;
    if (!weights.long_rotary_divisors.empty()) {
        const std::size_t context = context_tokens == 0 ? config.context_tokens : context_tokens;
        const bool is_long = static_cast<double>(context) > config.original_context_tokens;
        config.rotary.divisors = is_long ? weights.long_rotary_divisors : weights.short_rotary_divisors;
    }
    return ReferenceModel(std::move(config), std::move(weights));
}

ReferenceModel::ReferenceModel(Config config, Weights weights)
    : config_(std::move(config)), weights_(std::move(weights)), rotary_(make_rotary(config_.rotary)),
      window_rotary_(make_rotary(config_.window_rotary.value_or(config_.rotary))) {}

Cache ReferenceModel::make_cache(CacheElements elements) const {
    Cache cache{.elements = elements};
    for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
        Cache::Layer layer;
        layer.entry_length = config_.shapes[i].kv_heads * config_.shapes[i].head_length;
        layer.value_entry_length =
            config_.latent.rank > 0 ? config_.heads * config_.latent.value_length : layer.entry_length;
        const DeltaNetWeights& net = weights_.layers[i].delta_net;
        if (config_.recurrent[i] && is_lfm2(config_)) {
            layer.inputs.columns = 3 * config_.width;
        } else if (config_.recurrent[i] && has_mamba(config_)) {
            const Mamba2Weights& mamba = weights_.layers[i].mamba;
            layer.mamba.emplace(config_.mamba_heads, mamba.decay, mamba.dt_bias, mamba.skip);
            layer.inputs.columns = mamba.convolution.rows;
        } else if (config_.recurrent[i]) {
            layer.delta_net.emplace(config_.delta_heads, net.decay, net.dt_bias, length_epsilon);
            layer.inputs.columns = net.qkv.rows;
        }
        const std::size_t length = config_.shapes[i].head_length;
        layer.attends_in_half = elements.matrix_heads > 0 && length % elements.matrix_heads == 0 &&
                                length <= 256 && config_.latent.rank == 0;
        cache.layers.push_back(std::move(layer));
    }
    return cache;
}

Vector ReferenceModel::short_convolution(const ConvolutionWeights& mixer, View x, Cache::Layer& stored,
                                         Units units) const {
    append(linear_on(units, mixer.input, x), stored.inputs.values);
    ++stored.inputs.rows;
    return linear_on(units, mixer.output,
                     last_convolved(stored.inputs, mixer.convolution, {}, gated_short_convolution));
}

Vector ReferenceModel::mamba(const Mamba2Weights& mixer, View x, Cache::Layer& stored, Units units) const {
    const Vector projected = linear_on(units, mixer.input, x);
    const std::size_t inner = mixer.output.columns;
    const View gate = View(projected).first(inner);
    const View xbc = View(projected).subspan(inner, mixer.convolution.rows);
    append({xbc.begin(), xbc.end()}, stored.inputs.values);
    ++stored.inputs.rows;
    const Vector y = stored.mamba->step(last_convolved(stored.inputs, mixer.convolution,
                                                       mixer.convolution_bias, reference::short_convolution),
                                        View(projected).subspan(inner + mixer.convolution.rows));
    Vector normed;
    if (mixer.norm.rows == 0)
        return linear_on(units, mixer.output, swiglu(gate, y));
    const std::size_t length = mixer.norm.columns;
    for (std::size_t group = 0; group < mixer.norm.rows; ++group) {
        append(gate_first_rms_norm(View(y).subspan(group * length, length),
                                   gate.subspan(group * length, length), mixer.norm.row(group),
                                   config_.epsilon),
               normed);
    }
    return linear_on(units, mixer.output, normed);
}

bool ReferenceModel::has_both(std::size_t layer_index) const {
    return config_.recurrent[layer_index] && weights_.layers[layer_index].query.rows > 0;
}

/// The mixer of a recurrent layer.
Vector ReferenceModel::mix(std::size_t layer_index, View x, Cache::Layer& stored, Units units) const {
    const LayerWeights& layer = weights_.layers[layer_index];
    if (has_mamba(config_))
        return mamba(layer.mamba, x, stored, units);
    if (is_lfm2(config_))
        return short_convolution(layer.short_convolution, x, stored, units);
    return delta_net(layer.delta_net, x, stored, units);
}

Vector ReferenceModel::delta_net(const DeltaNetWeights& net, View x, Cache::Layer& stored,
                                 Units units) const {
    append(linear_on(units, net.qkv, x), stored.inputs.values);
    ++stored.inputs.rows;
    const Vector qkv = last_convolved(stored.inputs, net.convolution, {}, reference::short_convolution);
    Vector values =
        stored.delta_net->step(qkv, linear_on(units, net.alpha, x), linear_on(units, net.beta, x));
    const Vector gate = linear_on(units, net.gate, x);
    Vector heads;
    for (std::size_t start = 0; start < values.size(); start += net.norm.size()) {
        append(gated_rms_norm(View(values).subspan(start, net.norm.size()),
                              View(gate).subspan(start, net.norm.size()), net.norm, config_.epsilon),
               heads);
    }
    return linear_on(units, net.output, heads);
}

Vector ReferenceModel::feed_forward(std::size_t layer_index, View x, Units units) const {
    const LayerWeights& layer = weights_.layers[layer_index];
    if (layer.router.rows == 0) {
        const Vector up = linear_on(units, layer.up, x);
        if (layer.gate.rows == 0)
            return linear_on(units, layer.down, squared_relu(up));
        Vector gate = linear_on(units, layer.gate, x);
        if (const auto deviations = config_.shapes[layer_index].deviations)
            gate = statistical_top_k(gate, *deviations);
        return linear_on(units, layer.down, gated(config_.gate, gate, up));
    }
    Vector y = experts(layer, x);
    return config_.shared_feed_forward == 0 ? y : add(y, shared_expert(layer, x, units));
}

Vector ReferenceModel::experts(const LayerWeights& layer, View x) const {
    const auto bias_of = [](const Matrix& biases, std::size_t expert) {
        return biases.rows == 0 ? View() : biases.row(expert);
    };
    RoutingRule rule = config_.routing;
    rule.selection_bias = layer.selection_bias;
    const std::vector<ExpertShare> chosen =
        choose_experts(add_if(linear(layer.router, x), layer.router_bias), config_.experts_used, rule);
    Matrix outputs{.rows = chosen.size(), .columns = config_.width, .values = {}};
    for (const ExpertShare& share : chosen) {
        const std::size_t i = share.expert;
        const Vector up = add_if(linear(layer.expert_ups[i], x), bias_of(layer.expert_up_biases, i));
        if (layer.expert_gates.empty()) {
            append(linear(layer.expert_downs[i], squared_relu(up)), outputs.values);
            continue;
        }
        const Vector gate = add_if(linear(layer.expert_gates[i], x), bias_of(layer.expert_gate_biases, i));
        append(linear(layer.expert_downs[i], gated(config_.gate, gate, up)), outputs.values);
    }
    return mix_experts(chosen, outputs, layer.expert_down_biases);
}

/// Its inner values are scaled by the row gate: the rows of the last matrix are linear.
Vector ReferenceModel::shared_expert(const LayerWeights& layer, View x, Units units) const {
    const Vector up = linear_on(units, layer.shared_up, x);
    Vector inner = layer.shared_gate.rows == 0
                       ? squared_relu(up)
                       : gated(config_.gate, linear_on(units, layer.shared_gate, x), up);
    if (layer.shared_row_gate.rows > 0) {
        const Vector row_gate(inner.size(), linear_on(units, layer.shared_row_gate, x)[0]);
        inner = sigmoid_gate(row_gate, inner);
    }
    return linear_on(units, layer.shared_down, inner);
}

Vector ReferenceModel::dense_and_experts(const LayerWeights& layer, View x, Units units) const {
    const Vector h = rms_norm(x, layer.feed_forward_norm, config_.epsilon);
    const Vector dense =
        linear_on(units, layer.down, geglu(linear_on(units, layer.gate, h), linear_on(units, layer.up, h)));
    const Vector routed = scaled(1 / std::sqrt(static_cast<double>(config_.width)),
                                 rms_norm(x, layer.router_scale, config_.epsilon));
    const std::vector<ExpertShare> chosen = choose_experts(linear(layer.router, routed), config_.experts_used,
                                                           {.expert_scales = layer.expert_scales});
    const Vector input = rms_norm(x, layer.expert_norm, config_.epsilon);
    Matrix outputs{.rows = chosen.size(), .columns = config_.width, .values = {}};
    for (const ExpertShare& one : chosen) {
        const Vector inner =
            geglu(linear(layer.expert_gates[one.expert], input), linear(layer.expert_ups[one.expert], input));
        append(linear(layer.expert_downs[one.expert], inner), outputs.values);
    }
    return add(rms_norm(dense, layer.post_dense_norm, config_.epsilon),
               rms_norm(mix_experts(chosen, outputs, {}), layer.post_expert_norm, config_.epsilon));
}

void ReferenceModel::turn(std::size_t layer_index, Vector& heads, uint32_t position) const {
    if (config_.rotates[layer_index]) {
        rotate_heads(heads, config_.shapes[layer_index].head_length, position, config_.pairing,
                     config_.windows[layer_index] > 0 ? window_rotary_ : rotary_);
    }
}

double ReferenceModel::temperature(uint32_t position) const {
    const auto tokens = static_cast<double>(config_.temperature_tokens);
    return 1 + config_.temperature_scale * std::log(1 + std::floor(position / tokens));
}

/// Appends the keys and values of one token, computed from its cache entry.
void ReferenceModel::store_latent(std::size_t layer_index, View x, uint32_t position,
                                  const CacheElements& elements, Cache::Layer& stored, Units units) const {
    const LatentWeights& weights = weights_.layers[layer_index].latent;
    const LatentShape& shape = config_.latent;
    const Vector down = linear_on(units, weights.down, x);
    Vector entry = rms_norm(View(down).first(shape.rank), weights.norm, config_.epsilon);
    append({down.begin() + static_cast<std::ptrdiff_t>(shape.rank), down.end()}, entry);
    rotate(std::span(entry).subspan(shape.rank), position, config_.pairing, rotary_);
    entry = reference::stored(entry, elements.keys, entry.size());
    const View latent = View(entry).first(shape.rank);
    for (std::size_t head = 0; head < config_.heads; ++head) {
        for (std::size_t i = 0; i < shape.unrotated; ++i) {
            double sum = 0;
            for (std::size_t c = 0; c < shape.rank; ++c)
                sum += weights.keys[head].row(c)[i] * latent[c];
            stored.keys.push_back(sum);
        }
        stored.keys.insert(stored.keys.end(), entry.begin() + static_cast<std::ptrdiff_t>(shape.rank),
                           entry.end());
        append(linear(weights.values[head], latent), stored.values);
    }
}

Vector ReferenceModel::attend_to_latents(std::size_t layer_index, View x, uint32_t position, EntryRange range,
                                         const Cache::Layer& stored, Units units) const {
    const LatentWeights& weights = weights_.layers[layer_index].latent;
    const LatentShape& shape = config_.latent;
    Vector query(x.begin(), x.end());
    if (shape.query_rank > 0)
        query = rms_norm(linear_on(units, weights.query_down, x), weights.query_norm, config_.epsilon);
    query = linear_on(units, weights.query, query);
    for (std::size_t head = 0; head < config_.heads; ++head) {
        rotate(std::span(query).subspan(head * config_.head_length + shape.unrotated, shape.rotated),
               position, config_.pairing, rotary_);
    }
    const AttentionShape heads{.heads = config_.heads,
                               .kv_heads = config_.heads,
                               .head_length = config_.head_length,
                               .value_length = shape.value_length,
                               .scale = config_.attention_scale};
    return linear_on(units, weights_.layers[layer_index].attention_output,
                     attention(heads, query, stored.keys, stored.values, range));
}

/// Appends the keys and values of one token.
void ReferenceModel::store(std::size_t layer_index, View x, uint32_t position, const CacheElements& elements,
                           Cache::Layer& stored, Units units) const {
    if (config_.latent.rank > 0) {
        store_latent(layer_index, x, position, elements, stored, units);
        return;
    }
    const LayerWeights& layer = weights_.layers[layer_index];
    Vector key = linear_with_bias(units, layer.key, layer.key_bias, x);
    Vector value = linear_with_bias(units, layer.value, layer.value_bias, x);
    const std::size_t length = config_.shapes[layer_index].head_length;
    if (config_.architecture == "gemma3n" || config_.architecture == "gemma4")
        value = normalise_heads(std::move(value), Vector(length, 1.0), config_.epsilon);
    key = normalise_heads(std::move(key), layer.key_norm, config_.epsilon);
    turn(layer_index, key, position);
    append(reference::stored(key, elements.keys, length), stored.keys);
    append(reference::stored(value, elements.values, length), stored.values);
}

/// Entries that the token at `index` attends to, before `end`.
EntryRange ReferenceModel::visible(std::size_t layer_index, std::size_t index, std::size_t end) const {
    const std::size_t window = config_.windows[layer_index];
    return {window > 0 && index + 1 > window ? index + 1 - window : 0, end};
}

Vector ReferenceModel::attend(std::size_t layer_index, View x, uint32_t position, EntryRange range,
                              const Cache::Layer& stored, Units units) const {
    if (config_.latent.rank > 0)
        return attend_to_latents(layer_index, x, position, range, stored, units);
    const LayerWeights& layer = weights_.layers[layer_index];
    Vector query = linear_with_bias(units, layer.query, layer.query_bias, x);
    query = normalise_heads(std::move(query), layer.query_norm, config_.epsilon);
    turn(layer_index, query, position);
    for (double& one : query)
        one *= temperature(position);
    const AttentionShape shape{.heads = config_.heads,
                               .kv_heads = config_.shapes[layer_index].kv_heads,
                               .head_length = config_.shapes[layer_index].head_length,
                               .scale = config_.attention_scale,
                               .soft_cap = config_.attention_soft_cap,
                               .in_half = units == Units::matrix && stored.attends_in_half};
    Vector heads = attention(shape, query, stored.keys, stored.values, range, layer.sinks);
    if (layer.query_gate.rows > 0)
        heads = sigmoid_gate(linear_on(units, layer.query_gate, x), heads);
    return add_if(linear_on(units, layer.attention_output, heads), layer.output_bias);
}

/// The stream after a mixer.
Vector ReferenceModel::add_mixed(std::size_t layer_index, View x, View mixed) const {
    return add(x, scaled(config_.residual_scale,
                         normalise_if({mixed.begin(), mixed.end()},
                                      weights_.layers[layer_index].post_attention_norm, config_.epsilon)));
}

/// The stream after a layer's feed-forward block, if it has one.
Vector ReferenceModel::add_feed_forward(std::size_t layer_index, View x, Units units) const {
    if (!config_.has_feed_forward[layer_index])
        return {x.begin(), x.end()};
    const LayerWeights& layer = weights_.layers[layer_index];
    const Vector transformed =
        layer.expert_norm.empty()
            ? feed_forward(layer_index, rms_norm(x, layer.feed_forward_norm, config_.epsilon), units)
            : dense_and_experts(layer, x, units);
    return add(x, scaled(config_.residual_scale,
                         normalise_if(transformed, layer.post_feed_forward_norm, config_.epsilon)));
}

std::vector<Vector> ReferenceModel::expand(View x, Units units) const {
    if (config_.streams == 1)
        return {};
    std::vector<Vector> streams{{x.begin(), x.end()}};
    for (const Matrix& expansion : weights_.stream_expansions)
        streams.push_back(with_magnitude_of(x, linear_on(units, expansion, x), magnitude_epsilon));
    return streams;
}

Vector ReferenceModel::merge(const std::vector<Vector>& streams, Units units) const {
    Vector sum = streams[0];
    for (std::size_t i = 1; i < streams.size(); ++i) {
        sum = add(sum,
                  with_magnitude_of(streams[0], linear_on(units, weights_.stream_merges[i - 1], streams[i]),
                                    magnitude_epsilon));
    }
    return scaled(1 / static_cast<double>(streams.size()), sum);
}

Vector ReferenceModel::add_laurel(const LayerWeights& layer, View prediction, View x, Units units) const {
    const Vector h = rms_norm(prediction, layer.attention_norm, config_.epsilon);
    const Vector low_rank = linear_on(units, layer.laurel_right, linear_on(units, layer.laurel_left, h));
    const Vector laurel = add(h, rms_norm(low_rank, layer.laurel_norm, config_.epsilon));
    return scaled(1 / std::sqrt(2.0), add(x, laurel));
}

std::vector<Vector> ReferenceModel::corrected(const LayerWeights& layer,
                                              const std::vector<Vector>& predictions, View x, View input,
                                              Units units) const {
    std::vector<Vector> streams = correct(layer.altup, predictions, x);
    Vector active = streams[0];
    for (std::size_t k = 0; k < active.size(); ++k)
        active[k] *= layer.altup_scale[k];
    const Vector inner = geglu(linear_on(units, layer.input_gate, active), input);
    const Vector added =
        rms_norm(linear_on(units, layer.input_output, inner), layer.post_input_norm, config_.epsilon);
    for (std::size_t i = 1; i < streams.size(); ++i)
        streams[i] = add(streams[i], added);
    return streams;
}

/// The stream after gemma4's input of a layer, if it has one, and the scale of its output.
Vector ReferenceModel::add_layer_input(std::size_t layer_index, View x, View input, Units units) const {
    const LayerWeights& layer = weights_.layers[layer_index];
    Vector y(x.begin(), x.end());
    if (!input.empty()) {
        const Vector inner = geglu(linear_on(units, layer.input_gate, x), input);
        y = add(
            x, rms_norm(linear_on(units, layer.input_output, inner), layer.post_input_norm, config_.epsilon));
    }
    return layer.output_scale.empty() ? y : scaled(layer.output_scale[0], std::move(y));
}

Vector ReferenceModel::layer_inputs(TokenId token, View x, Units units) const {
    const std::size_t width = config_.per_layer_width;
    if (width == 0)
        return {};
    const Vector projected = scaled(1 / std::sqrt(static_cast<double>(config_.width)),
                                    linear_on(units, weights_.layer_projection, x));
    const Vector normalised = normalise_heads(projected, weights_.layer_projection_norm, config_.epsilon);
    const auto row = weights_.layer_embedding.row(token);
    const Vector own = scaled(std::sqrt(static_cast<double>(width)), {row.begin(), row.end()});
    return scaled(1 / std::sqrt(2.0), add(normalised, own));
}

View ReferenceModel::layer_input(std::size_t layer_index, View inputs) const {
    return inputs.empty() ? inputs
                          : inputs.subspan(layer_index * config_.per_layer_width, config_.per_layer_width);
}

const Cache::Layer& ReferenceModel::read_by(std::size_t layer_index, const Cache& cache) const {
    return cache.layers[config_.shapes[layer_index].keys_of.value_or(layer_index)];
}

Vector ReferenceModel::hidden(TokenId token, std::size_t index, uint32_t position, Cache& cache,
                              Units units) const {
    return pass(token, index, position, cache, units, Purpose::hidden);
}

Vector ReferenceModel::pass(TokenId token, std::size_t index, uint32_t position, Cache& cache, Units units,
                            Purpose purpose) const {
    assert(cache.layers.size() == weights_.layers.size() && index <= cache.entries());
    cache.truncate(index);
    Vector x = embed(weights_.embedding, std::span(&token, 1)).values;
    for (double& value : x)
        value *= config_.embedding_scale;
    const Vector inputs = layer_inputs(token, x, units);
    std::vector<Vector> streams = expand(x, units);
    for (std::size_t i = 0; i < config_.layers; ++i) {
        Cache::Layer& stored = cache.layers[i];
        if (!streams.empty()) {
            streams = predict(weights_.layers[i].altup, streams);
            x = streams[0];
        }
        if (config_.has_mixer[i]) {
            const Vector input = rms_norm(x, weights_.layers[i].attention_norm, config_.epsilon);
            if ((!config_.recurrent[i] || has_both(i)) && !config_.shapes[i].keys_of)
                store(i, input, position, cache.elements, stored, units);
            if (purpose == Purpose::stored && i + 1 == config_.layers && !config_.recurrent[i]) {
                cache.count = index + 1;
                return {};
            }
            Vector mixed = config_.recurrent[i] ? mix(i, input, stored, units)
                                                : attend(i, input, position, visible(i, index, index + 1),
                                                         read_by(i, cache), units);
            if (has_both(i)) {
                mixed = add(mixed, attend(i, input, position, visible(i, index, index + 1), stored, units));
            }
            x = add_mixed(i, x, mixed);
        }
        if (streams.empty()) {
            x = add_layer_input(i, add_feed_forward(i, x, units), layer_input(i, inputs), units);
            continue;
        }
        x = add_feed_forward(i, add_laurel(weights_.layers[i], streams[0], x, units), units);
        streams = corrected(weights_.layers[i], streams, x, layer_input(i, inputs), units);
    }
    if (!streams.empty())
        x = merge(streams, units);
    cache.count = index + 1;
    return rms_norm(x, weights_.output_norm, config_.epsilon);
}

std::vector<Vector> ReferenceModel::hidden_together(std::span<const TokenId> tokens) const {
    Cache cache = make_cache();
    std::vector<Vector> rows;
    std::vector<Vector> inputs_of_rows;
    std::vector<std::vector<Vector>> streams_of_rows;
    for (const TokenId token : tokens) {
        rows.push_back(embed(weights_.embedding, std::span(&token, 1)).values);
        for (double& value : rows.back())
            value *= config_.embedding_scale;
        inputs_of_rows.push_back(layer_inputs(token, rows.back(), Units::plain));
        streams_of_rows.push_back(expand(rows.back(), Units::plain));
    }
    for (std::size_t i = 0; i < config_.layers; ++i) {
        Cache::Layer& stored = cache.layers[i];
        for (std::size_t row = 0; row < rows.size() && config_.streams > 1; ++row) {
            streams_of_rows[row] = predict(weights_.layers[i].altup, streams_of_rows[row]);
            rows[row] = streams_of_rows[row][0];
        }
        std::vector<Vector> inputs;
        for (std::size_t row = 0; row < rows.size() && config_.has_mixer[i]; ++row) {
            inputs.push_back(rms_norm(rows[row], weights_.layers[i].attention_norm, config_.epsilon));
            if ((!config_.recurrent[i] || has_both(i)) && !config_.shapes[i].keys_of)
                store(i, inputs[row], static_cast<uint32_t>(row), cache.elements, stored, Units::plain);
        }
        for (std::size_t row = 0; row < inputs.size(); ++row) {
            Vector mixed = config_.recurrent[i]
                               ? mix(i, inputs[row], stored, Units::plain)
                               : attend(i, inputs[row], static_cast<uint32_t>(row),
                                        visible(i, row, rows.size()), read_by(i, cache), Units::plain);
            if (has_both(i)) {
                mixed = add(mixed, attend(i, inputs[row], static_cast<uint32_t>(row),
                                          visible(i, row, rows.size()), stored, Units::plain));
            }
            rows[row] = add_mixed(i, rows[row], mixed);
        }
        for (std::size_t row = 0; row < rows.size(); ++row) {
            std::vector<Vector>& streams = streams_of_rows[row];
            const View input = layer_input(i, inputs_of_rows[row]);
            if (streams.empty()) {
                rows[row] =
                    add_layer_input(i, add_feed_forward(i, rows[row], Units::plain), input, Units::plain);
                continue;
            }
            const LayerWeights& layer = weights_.layers[i];
            const Vector fed =
                add_feed_forward(i, add_laurel(layer, streams[0], rows[row], Units::plain), Units::plain);
            streams = corrected(layer, streams, fed, input, Units::plain);
        }
    }
    for (std::size_t row = 0; row < rows.size() && config_.streams > 1; ++row)
        rows[row] = merge(streams_of_rows[row], Units::plain);
    for (Vector& row : rows)
        row = rms_norm(row, weights_.output_norm, config_.epsilon);
    return rows;
}
Vector ReferenceModel::forward(TokenId token, std::size_t index, uint32_t position, Cache& cache,
                               Units units) const {
    Vector logits = scaled(1 / config_.logit_divisor,
                           linear(weights_.head, hidden(token, index, position, cache, units)));
    if (config_.logit_soft_cap > 0) {
        for (double& logit : logits)
            logit = soft_cap(logit, config_.logit_soft_cap);
    }
    return logits;
}

Vector ReferenceModel::draft(View hidden, TokenId next, std::size_t index, uint32_t position, Cache& cache,
                             Units units) const {
    const std::size_t i = config_.layers;
    const DraftHeadWeights& head = weights_.draft_head;
    Cache::Layer& stored = cache.layers.back();
    assert(config_.has_draft_head && stored.keys.size() == index * stored.entry_length);
    Vector embedding = embed(head.embedding, std::span(&next, 1)).values;
    Vector both = rms_norm(scaled(config_.embedding_scale, embedding), head.embedding_norm, config_.epsilon);
    append(rms_norm(hidden, head.hidden_norm, config_.epsilon), both);
    Vector x = linear_on(units, head.projection, both);
    const Vector input = rms_norm(x, weights_.layers[i].attention_norm, config_.epsilon);
    store(i, input, position, cache.elements, stored, units);
    x = add_mixed(i, x, attend(i, input, position, visible(i, index, index + 1), stored, units));
    x = add_feed_forward(i, x, units);
    return linear(head.head, rms_norm(x, head.output_norm, config_.epsilon));
}

std::vector<Vector> ReferenceModel::run_drafts(std::span<const TokenId> tokens, CacheElements elements,
                                               std::size_t matrix_tokens) const {
    Cache cache = make_cache(elements);
    std::vector<Vector> logits;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        const Units units = i < matrix_tokens ? Units::matrix : Units::plain;
        const auto position = static_cast<uint32_t>(i);
        logits.push_back(
            draft(hidden(tokens[i], i, position, cache, units), tokens[i + 1], i, position, cache, units));
    }
    return logits;
}

std::vector<Vector> ReferenceModel::run(std::span<const TokenId> tokens, CacheElements elements,
                                        std::size_t matrix_tokens) const {
    Cache cache = make_cache(elements);
    std::vector<Vector> logits;
    logits.reserve(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Units units = i < matrix_tokens ? Units::matrix : Units::plain;
        logits.push_back(forward(tokens[i], i, static_cast<uint32_t>(i), cache, units));
    }
    return logits;
}

std::vector<Vector> ReferenceModel::run_from(std::size_t first, std::span<const TokenId> tokens,
                                             CacheElements elements) const {
    Cache cache = make_cache(elements);
    std::vector<Vector> logits;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto position = static_cast<uint32_t>(i);
        if (i < first) {
            pass(tokens[i], i, position, cache, Units::plain, Purpose::stored);
        } else {
            logits.push_back(forward(tokens[i], i, position, cache));
        }
    }
    return logits;
}

std::vector<TokenId> ReferenceModel::continue_greedily(std::span<const TokenId> prompt, std::size_t count,
                                                       CacheElements elements) const {
    assert(!prompt.empty());
    Cache cache = make_cache(elements);
    std::vector<TokenId> tokens(prompt.begin(), prompt.end());
    for (std::size_t i = 0; i + 1 < prompt.size() + count; ++i) {
        const Vector logits = forward(tokens[i], i, static_cast<uint32_t>(i), cache);
        if (i + 1 >= prompt.size())
            tokens.push_back(greedy_token(logits));
    }
    return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

} // namespace etna::reference
