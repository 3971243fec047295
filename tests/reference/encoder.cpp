#include "tests/reference/encoder.hpp"

#include "tests/reference/attention.hpp"
#include "tests/reference/decode.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace etna::reference {

/// Reads keys and tensors, and remembers which tensors were read.
class EncoderReader {
public:
    explicit EncoderReader(const gguf::File& file) : file_(file) {}

    Result<ReferenceEncoder> read();

private:
    using Encoder = ReferenceEncoder;

    [[nodiscard]] std::string key(std::string_view name) const {
        return fmt::format("{}.{}", encoder_.architecture_, name);
    }
    [[nodiscard]] std::size_t integer(std::string_view name, std::size_t fallback = 0) const {
        return file_.unsigned_integer(key(name)).value_or(fallback);
    }
    [[nodiscard]] double number(std::string_view name, double fallback) const {
        return file_.number(key(name)).value_or(fallback);
    }
    [[nodiscard]] bool has(const std::string& name) const { return file_.find_tensor(name) != nullptr; }

    /// [rows, columns]; sets the status if the tensor is missing.
    Matrix matrix(const std::string& name) {
        const gguf::Tensor* const tensor = file_.find_tensor(name);
        if (tensor == nullptr) {
            status_ = Error{ErrorKind::corrupt, fmt::format("{} is missing", name), {}};
            return {};
        }
        read_.insert(name);
        std::vector<std::byte> bytes(tensor->bytes);
        if (const Status status = file_.read(*tensor, 0, bytes); !status) {
            status_ = status.error();
            return {};
        }
        return decode_matrix(*tensor, bytes);
    }
    Vector vector(const std::string& name) { return matrix(name).values; }
    Vector optional_vector(const std::string& name) { return has(name) ? vector(name) : Vector(); }

    Encoder::Norm norm(const std::string& name) {
        return {.weight = vector(name + ".weight"), .bias = optional_vector(name + ".bias")};
    }
    Encoder::Linear linear(const std::string& name) {
        return {.weight = matrix(name + ".weight"), .bias = optional_vector(name + ".bias")};
    }
    void read_layer(std::size_t index);
    void read_rotation();

    const gguf::File& file_;
    Encoder encoder_;
    Status status_;
    std::set<std::string> read_;
};

namespace {

Matrix rows_of(const Matrix& all, std::size_t first, std::size_t count) {
    const auto begin = all.values.begin() + static_cast<std::ptrdiff_t>(first * all.columns);
    return {.rows = count,
            .columns = all.columns,
            .values = {begin, begin + static_cast<std::ptrdiff_t>(count * all.columns)}};
}

} // namespace

void EncoderReader::read_layer(std::size_t index) {
    const std::string prefix = fmt::format("blk.{}.", index);
    Encoder::Layer layer;
    if (has(prefix + "attn_qkv.weight")) {
        const Matrix all = matrix(prefix + "attn_qkv.weight");
        const std::size_t rows = all.rows / 3;
        layer.query.weight = rows_of(all, 0, rows);
        layer.key.weight = rows_of(all, rows, rows);
        layer.value.weight = rows_of(all, 2 * rows, rows);
    } else {
        layer.query = linear(prefix + "attn_q");
        layer.key = linear(prefix + "attn_k");
        layer.value = linear(prefix + "attn_v");
    }
    if (encoder_.is_gemma()) {
        layer.query_norm = vector(prefix + "attn_q_norm.weight");
        layer.key_norm = vector(prefix + "attn_k_norm.weight");
        layer.attention_result = norm(prefix + "post_attention_norm");
        layer.feed_forward_result = norm(prefix + "post_ffw_norm");
        layer.before_attention = norm(prefix + "attn_norm");
        layer.before_feed_forward = norm(prefix + "ffn_norm");
        layer.gate = linear(prefix + "ffn_gate");
        layer.has_window =
            encoder_.reach_ > 0 && (index + 1) % integer("attention.sliding_window_pattern", 6) != 0;
    }
    layer.output = linear(prefix + "attn_output");
    layer.up = linear(prefix + "ffn_up");
    layer.down = linear(prefix + "ffn_down");
    if (encoder_.architecture_ == "modern-bert") {
        const Matrix both = std::move(layer.up.weight);
        layer.gate.weight = rows_of(both, 0, both.rows / 2);
        layer.up.weight = rows_of(both, both.rows / 2, both.rows / 2);
        if (index > 0)
            layer.before_attention = norm(prefix + "attn_norm");
        layer.before_feed_forward = norm(prefix + "ffn_norm");
        layer.has_window = encoder_.reach_ > 0 && index % integer("attention.sliding_window_pattern", 3) != 0;
    } else if (!encoder_.is_gemma()) {
        if (has(prefix + "ffn_gate.weight"))
            layer.gate = linear(prefix + "ffn_gate");
        layer.after_attention = norm(prefix + "attn_output_norm");
        layer.after_feed_forward = norm(prefix + "layer_output_norm");
    }
    encoder_.layers_.push_back(std::move(layer));
}

void EncoderReader::read_rotation() {
    if (encoder_.architecture_ == "bert" || encoder_.architecture_ == "jina-bert-v2")
        return;
    RotaryOptions options{.rotated = encoder_.head_length_, .base = number("rope.freq_base", 10000)};
    encoder_.rotary_ = make_rotary(options);
    options.base = number("rope.freq_base_swa", 10000);
    encoder_.window_rotary_ = make_rotary(options);
}

Result<ReferenceEncoder> EncoderReader::read() {
    encoder_.architecture_ = file_.text("general.architecture").value_or("");
    if (encoder_.architecture_ != "bert" && encoder_.architecture_ != "nomic-bert" &&
        encoder_.architecture_ != "modern-bert" && encoder_.architecture_ != "jina-bert-v2" &&
        !encoder_.is_gemma())
        return Error{ErrorKind::unsupported, encoder_.architecture_, {}};
    encoder_.heads_ = integer("attention.head_count");
    encoder_.kv_heads_ = integer("attention.head_count_kv", encoder_.heads_);
    encoder_.head_length_ = integer("attention.key_length", integer("embedding_length") / encoder_.heads_);
    encoder_.epsilon_ =
        number(encoder_.is_gemma() ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", 0);
    encoder_.reach_ = integer("attention.sliding_window") / 2;
    encoder_.tokens_ = matrix("token_embd.weight");
    if (has("position_embd.weight"))
        encoder_.positions_ = matrix("position_embd.weight");
    if (has("token_types.weight"))
        encoder_.types_ = matrix("token_types.weight");
    if (!encoder_.is_gemma())
        encoder_.embedding_norm_ = norm("token_embd_norm");
    for (std::size_t index = 0; index < integer("block_count"); ++index)
        read_layer(index);
    if (has("output_norm.weight"))
        encoder_.output_norm_ = norm("output_norm");
    read_rotation();
    ETNA_CHECK(status_);
    for (const gguf::Tensor& tensor : file_.tensors()) {
        if (!read_.contains(tensor.name))
            return Error{ErrorKind::corrupt, fmt::format("{} belongs to nothing", tensor.name), {}};
    }
    return std::move(encoder_);
}

Result<ReferenceEncoder> ReferenceEncoder::load(const gguf::File& file) {
    return EncoderReader(file).read();
}

Vector ReferenceEncoder::apply(const Linear& linear, View x) {
    Vector y = reference::linear(linear.weight, x);
    return linear.bias.empty() ? y : add(y, linear.bias);
}

Vector ReferenceEncoder::normalised_heads(Vector heads, const Vector& norm) const {
    for (std::size_t start = 0; !norm.empty() && start < heads.size(); start += head_length_) {
        const Vector head = rms_norm(View(heads).subspan(start, head_length_), norm, epsilon_);
        std::copy(head.begin(), head.end(), heads.begin() + static_cast<std::ptrdiff_t>(start));
    }
    return heads;
}

Vector ReferenceEncoder::normalised(const std::optional<Norm>& norm, View x) const {
    if (norm && is_gemma())
        return rms_norm(x, norm->weight, epsilon_);
    return norm ? layer_norm(x, norm->weight, norm->bias, epsilon_) : Vector(x.begin(), x.end());
}

std::vector<Vector> ReferenceEncoder::attend(const Layer& layer, const std::vector<Vector>& x) const {
    const std::optional<Rotary>& rotary = layer.has_window ? window_rotary_ : rotary_;
    const auto turned = [&](Vector heads, std::size_t position) {
        if (rotary)
            rotate_heads(heads, head_length_, static_cast<uint32_t>(position), Pairing::half_split, *rotary);
        return heads;
    };
    Vector keys;
    Vector values;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Vector key = turned(normalised_heads(apply(layer.key, x[i]), layer.key_norm), i);
        const Vector value = apply(layer.value, x[i]);
        keys.insert(keys.end(), key.begin(), key.end());
        values.insert(values.end(), value.begin(), value.end());
    }
    AttentionShape shape{.heads = heads_, .kv_heads = kv_heads_, .head_length = head_length_};
    if (architecture_ == "jina-bert-v2")
        shape.alibi = 8;
    std::vector<Vector> outputs;
    for (std::size_t i = 0; i < x.size(); ++i) {
        EntryRange range{.begin = 0, .end = x.size()};
        shape.position = i;
        if (layer.has_window)
            range = {.begin = i - std::min(i, reach_), .end = std::min(x.size(), i + reach_ + 1)};
        const Vector query = turned(normalised_heads(apply(layer.query, x[i]), layer.query_norm), i);
        outputs.push_back(apply(layer.output, attention(shape, query, keys, values, range)));
    }
    return outputs;
}

Vector ReferenceEncoder::feed_forward(const Layer& layer, View x) const {
    const Vector up = apply(layer.up, x);
    if (layer.gate.weight.rows == 0)
        return apply(layer.down, gelu_erf_glu(up, Vector(up.size(), 1)));
    const Vector gate = apply(layer.gate, x);
    if (is_gemma())
        return apply(layer.down, geglu(gate, up));
    return apply(layer.down, architecture_ == "nomic-bert" ? swiglu(gate, up) : gelu_erf_glu(gate, up));
}

std::vector<Vector> ReferenceEncoder::hidden(std::span<const TokenId> tokens) const {
    std::vector<Vector> x;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        Vector embedded(tokens_.row(tokens[i]).begin(), tokens_.row(tokens[i]).end());
        if (positions_.rows > 0)
            embedded = add(embedded, positions_.row(i));
        if (types_.rows > 0)
            embedded = add(embedded, types_.row(0));
        for (double& one : embedded)
            one *= is_gemma() ? std::sqrt(static_cast<double>(tokens_.columns)) : 1;
        x.push_back(normalised(embedding_norm_, embedded));
    }
    for (const Layer& layer : layers_) {
        std::vector<Vector> inputs;
        inputs.reserve(x.size());
        for (const Vector& row : x)
            inputs.push_back(normalised(layer.before_attention, row));
        std::vector<Vector> attended = attend(layer, inputs);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] =
                normalised(layer.after_attention, add(x[i], normalised(layer.attention_result, attended[i])));
            const Vector transformed = normalised(
                layer.feed_forward_result, feed_forward(layer, normalised(layer.before_feed_forward, x[i])));
            x[i] = normalised(layer.after_feed_forward, add(x[i], transformed));
        }
    }
    for (Vector& row : x)
        row = normalised(output_norm_, row);
    return x;
}

} // namespace etna::reference
