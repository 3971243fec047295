#include "tests/support/random_encoder.hpp"

#include "tests/support/tensor_maker.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::test {
namespace {

uint32_t kv_heads(const RandomEncoderOptions& options) {
    return options.kv_heads == 0 ? options.heads : options.kv_heads;
}

class EncoderMaker {
public:
    EncoderMaker(GgufWriter& writer, const RandomEncoderOptions& options)
        : tensors_(writer, options.seed), options_(options) {}

    void add_ends() {
        tensors_.matrix("token_embd.weight", options_.vocabulary, options_.embedding, options_.matrices, 1);
        if (is_gemma()) {
            norm("output_norm");
            return;
        }
        if (!is_modern() && options_.token_types > 0)
            tensors_.biases("token_types.weight", options_.token_types, options_.embedding);
        if (is_bert())
            tensors_.biases("position_embd.weight", options_.context, options_.embedding);
        norm("token_embd_norm");
        if (is_modern())
            norm("output_norm");
    }

    void add_layer(uint32_t layer) {
        const std::string prefix = fmt::format("blk.{}.", layer);
        const uint32_t width = options_.embedding;
        if (is_gemma()) {
            add_gemma_layer(prefix);
            return;
        }
        if (is_bert() || is_jina()) {
            for (const char* role : {"attn_q", "attn_k", "attn_v"})
                linear(prefix + role, width, width);
        } else {
            matrix(prefix + "attn_qkv", 3 * width, width);
        }
        linear(prefix + "attn_output", width, width);
        if (is_modern()) {
            matrix(prefix + "ffn_up", 2 * options_.feed_forward, width);
        } else {
            if (is_bert()) {
                linear(prefix + "ffn_up", options_.feed_forward, width);
            } else {
                matrix(prefix + "ffn_up", options_.feed_forward, width);
                matrix(prefix + "ffn_gate", options_.feed_forward, width);
            }
        }
        linear(prefix + "ffn_down", width, options_.feed_forward);
        if (!is_modern()) {
            norm(prefix + "attn_output_norm");
            norm(prefix + "layer_output_norm");
            return;
        }
        if (layer > 0)
            norm(prefix + "attn_norm");
        norm(prefix + "ffn_norm");
    }

private:
    void add_gemma_layer(const std::string& prefix) {
        const uint32_t width = options_.embedding;
        const uint32_t inner = options_.heads * options_.head_dim;
        const uint32_t kv = kv_heads(options_) * options_.head_dim;
        matrix(prefix + "attn_q", inner, width);
        matrix(prefix + "attn_k", kv, width);
        matrix(prefix + "attn_v", kv, width);
        matrix(prefix + "attn_output", width, inner);
        matrix(prefix + "ffn_gate", options_.feed_forward, width);
        matrix(prefix + "ffn_up", options_.feed_forward, width);
        matrix(prefix + "ffn_down", width, options_.feed_forward);
        for (const char* role : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"})
            norm(prefix + role);
        for (const char* role : {"attn_q_norm.weight", "attn_k_norm.weight"})
            tensors_.norm(prefix + role, options_.head_dim);
    }

    [[nodiscard]] bool is_gemma() const { return options_.architecture == "gemma-embedding"; }
    [[nodiscard]] bool is_jina() const { return options_.architecture == "jina-bert-v2"; }
    [[nodiscard]] bool is_bert() const { return options_.architecture == "bert"; }
    [[nodiscard]] bool is_modern() const { return options_.architecture == "modern-bert"; }

    void matrix(const std::string& name, uint32_t rows, uint32_t columns) {
        tensors_.matrix(name + ".weight", rows, columns, options_.matrices, 1 / std::sqrt(columns));
    }
    /// With a bias in bert and jina-bert-v2.
    void linear(const std::string& name, uint32_t rows, uint32_t columns) {
        matrix(name, rows, columns);
        if (is_bert() || is_jina())
            tensors_.bias(name + ".bias", rows);
    }
    void norm(const std::string& name) {
        tensors_.norm(name + ".weight", options_.embedding);
        if (!is_modern() && !is_gemma())
            tensors_.bias(name + ".bias", options_.embedding);
    }

    TensorMaker tensors_;
    const RandomEncoderOptions& options_;
};

void add_wordpiece_tokenizer(GgufWriter& writer, uint32_t size) {
    constexpr int32_t normal = 1;
    constexpr int32_t control = 3;
    std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    std::vector<int32_t> types(tokens.size(), control);
    while (tokens.size() < size) {
        tokens.push_back(fmt::format("\u2581w{}", tokens.size()));
        types.push_back(normal);
    }
    writer.add("tokenizer.ggml.model", std::string("bert"));
    writer.add("tokenizer.ggml.pre", std::string("default"));
    writer.add_array("tokenizer.ggml.tokens", tokens);
    writer.add_array("tokenizer.ggml.token_type", types);
    writer.add("tokenizer.ggml.padding_token_id", uint32_t{0});
    writer.add("tokenizer.ggml.unknown_token_id", uint32_t{1});
    writer.add("tokenizer.ggml.bos_token_id", uint32_t{2});
    writer.add("tokenizer.ggml.eos_token_id", uint32_t{3});
    writer.add("tokenizer.ggml.cls_token_id", uint32_t{2});
    writer.add("tokenizer.ggml.seperator_token_id", uint32_t{3});
    writer.add("tokenizer.ggml.mask_token_id", uint32_t{4});
}

void add_unigram_tokenizer(GgufWriter& writer, uint32_t size) {
    constexpr int32_t normal = 1;
    constexpr int32_t unknown = 2;
    constexpr int32_t control = 3;
    std::vector<std::string> tokens{"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
    std::vector<int32_t> types{control, control, control, unknown, control};
    std::vector<float> scores(tokens.size(), 0);
    while (tokens.size() < size) {
        tokens.push_back(fmt::format("\u2581w{}", tokens.size()));
        types.push_back(normal);
        scores.push_back(-1 - static_cast<float>(tokens.size() % 7)); // as a logarithm of a frequency
    }
    writer.add("tokenizer.ggml.model", std::string("t5"));
    writer.add("tokenizer.ggml.pre", std::string("default"));
    writer.add_array("tokenizer.ggml.tokens", tokens);
    writer.add_array("tokenizer.ggml.scores", scores);
    writer.add_array("tokenizer.ggml.token_type", types);
    writer.add("tokenizer.ggml.bos_token_id", uint32_t{0});
    writer.add("tokenizer.ggml.padding_token_id", uint32_t{1});
    writer.add("tokenizer.ggml.eos_token_id", uint32_t{2});
    writer.add("tokenizer.ggml.seperator_token_id", uint32_t{2});
    writer.add("tokenizer.ggml.unknown_token_id", uint32_t{3});
    writer.add("tokenizer.ggml.add_bos_token", true);
    writer.add("tokenizer.ggml.add_eos_token", true);
    writer.add("tokenizer.ggml.add_space_prefix", true);
}

} // namespace

GgufWriter random_encoder_writer(const RandomEncoderOptions& options) {
    GgufWriter writer;
    const std::string prefix = fmt::format("{}.", options.architecture);
    writer.add("general.architecture", std::string(options.architecture));
    writer.add("general.name", fmt::format("random {} {}", options.architecture, options.seed));
    writer.add(prefix + "block_count", options.layers);
    writer.add(prefix + "context_length", options.context);
    writer.add(prefix + "embedding_length", options.embedding);
    writer.add(prefix + "feed_forward_length", options.feed_forward);
    writer.add(prefix + "attention.head_count", options.heads);
    const bool is_gemma = options.architecture == "gemma-embedding";
    writer.add(prefix + (is_gemma ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"),
               1e-5F);
    writer.add(prefix + "attention.causal", false);
    writer.add(prefix + "pooling_type", options.pooling);
    if (options.architecture != "bert")
        writer.add(prefix + "rope.freq_base", 1000.0F);
    if (is_gemma) {
        writer.add(prefix + "attention.head_count_kv", kv_heads(options));
        writer.add(prefix + "attention.key_length", options.head_dim);
        writer.add(prefix + "attention.value_length", options.head_dim);
        writer.add(prefix + "attention.sliding_window_pattern", 2U);
    }
    if (is_gemma || options.architecture == "modern-bert") {
        writer.add(prefix + "attention.sliding_window", options.window);
        writer.add(prefix + "rope.freq_base_swa", 500.0F);
    } else if (options.token_types > 0) {
        writer.add("tokenizer.ggml.token_type_count", options.token_types);
    }
    if (options.tokenizer == EncoderTokenizer::wordpiece)
        add_wordpiece_tokenizer(writer, options.vocabulary);
    if (options.tokenizer == EncoderTokenizer::unigram)
        add_unigram_tokenizer(writer, options.vocabulary);
    EncoderMaker maker(writer, options);
    maker.add_ends();
    for (uint32_t layer = 0; layer < options.layers; ++layer)
        maker.add_layer(layer);
    return writer;
}

Bytes random_encoder(const RandomEncoderOptions& options) {
    return random_encoder_writer(options).bytes();
}

} // namespace etna::test
