#include "tests/support/random_model.hpp"

#include "tests/support/random_tokenizer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace etna::test {

const std::string_view chatml_template =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

namespace {

/// Adds the tensors of one model, drawing weights in the order of the calls.
class TensorMaker {
public:
    TensorMaker(GgufWriter& writer, uint64_t seed) : writer_(writer), numbers_(seed) {}

    void matrix(const std::string& name, uint32_t rows, uint32_t columns, WeightFormat format,
                double deviation) {
        if (columns % block_elements(format) != 0) {
            throw std::invalid_argument(fmt::format("{}: rows of {} elements are not whole blocks of {}",
                                                    name, columns, block_elements(format)));
        }
        writer_.add_tensor({name,
                            type_number(format),
                            {columns, rows},
                            random_weights(format, std::size_t{rows} * columns, deviation, numbers_)});
    }

    /// Weights of an RMS norm: around 1.
    void norm(const std::string& name, uint32_t size) {
        std::vector<float> values(size);
        for (float& value : values)
            value = static_cast<float>(1.0 + 0.1 * numbers_.normal());
        vector(name, values);
    }

    void vector(const std::string& name, const std::vector<float>& values) {
        writer_.add_tensor(
            {name, type_number(WeightFormat::f32), {values.size()}, encode(values, WeightFormat::f32)});
    }

private:
    GgufWriter& writer_;
    RandomNumbers numbers_;
};

void check(const RandomModelOptions& options) {
    const auto require = [](bool holds, std::string_view rule) {
        if (!holds)
            throw std::invalid_argument(fmt::format("random model: {}", rule));
    };
    require(options.head_dim % 2 == 0, "head_dim must be even");
    require(options.kv_heads != 0 && options.heads % options.kv_heads == 0,
            "heads must be a multiple of kv_heads");
    require(options.tokenizer == RandomTokenizer::none ||
                options.vocabulary >= minimum_vocabulary(options.architecture),
            "the vocabulary is too small for the tokenizer");
}

std::string name_of(RandomArchitecture architecture) {
    return architecture == RandomArchitecture::llama ? "llama" : "qwen3";
}

void add_rope_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    writer.add(prefix + "rope.dimension_count", options.head_dim);
    writer.add(prefix + "rope.freq_base", options.rope_base);
    if (options.rope_scaling != RopeScaling::linear && options.rope_scaling != RopeScaling::yarn)
        return;
    const bool yarn = options.rope_scaling == RopeScaling::yarn;
    writer.add(prefix + "rope.scaling.type", yarn ? "yarn" : "linear");
    writer.add(prefix + "rope.scaling.factor", options.rope_factor);
    if (yarn)
        writer.add(prefix + "rope.scaling.original_context_length", options.original_context);
}

void add_keys(GgufWriter& writer, const RandomModelOptions& options) {
    const std::string architecture = name_of(options.architecture);
    const std::string prefix = architecture + ".";
    writer.add("general.architecture", architecture);
    writer.add("general.name", fmt::format("random {} {}", architecture, options.seed));
    writer.add(prefix + "block_count", options.layers);
    writer.add(prefix + "context_length", options.context);
    writer.add(prefix + "embedding_length", options.embedding);
    writer.add(prefix + "feed_forward_length", options.feed_forward);
    writer.add(prefix + "attention.head_count", options.heads);
    writer.add(prefix + "attention.head_count_kv", options.kv_heads);
    writer.add(prefix + "attention.key_length", options.head_dim);
    writer.add(prefix + "attention.value_length", options.head_dim);
    writer.add(prefix + "attention.layer_norm_rms_epsilon", options.norm_epsilon);
    writer.add(prefix + "vocab_size", options.vocabulary);
    add_rope_keys(writer, options, prefix);
}

void add_tokenizer(GgufWriter& writer, const RandomModelOptions& options) {
    if (options.tokenizer == RandomTokenizer::by_architecture) {
        if (options.architecture == RandomArchitecture::llama) {
            add_sentencepiece_tokenizer(writer, options.vocabulary);
        } else {
            add_bpe_tokenizer(writer, options.vocabulary);
        }
    }
    if (!options.chat_template.empty())
        writer.add("tokenizer.chat_template", std::string(options.chat_template));
}

/// Divisors as a llama-3 model has them: 1 for the fast pairs, rope_factor for the slow ones, a ramp between.
std::vector<float> rope_divisors(const RandomModelOptions& options) {
    const uint32_t pairs = options.head_dim / 2;
    std::vector<float> divisors(pairs);
    for (uint32_t i = 0; i < pairs; ++i) {
        const float place = (static_cast<float>(i) + 0.5F) / static_cast<float>(pairs);
        divisors[i] = 1.0F + (options.rope_factor - 1.0F) * std::clamp(3.0F * place - 1.0F, 0.0F, 1.0F);
    }
    return divisors;
}

void add_layer(TensorMaker& tensors, const RandomModelOptions& options, uint32_t layer) {
    const std::string prefix = fmt::format("blk.{}.", layer);
    const auto matrix = [&](std::string_view role, uint32_t rows, uint32_t columns) {
        auto own = options.role_formats.find(fmt::format("{}.{}", layer, role));
        if (own == options.role_formats.end())
            own = options.role_formats.find(role);
        const WeightFormat format = own == options.role_formats.end() ? options.matrices : own->second;
        tensors.matrix(fmt::format("{}{}.weight", prefix, role), rows, columns, format,
                       options.scale / std::sqrt(columns));
    };
    const uint32_t query = options.heads * options.head_dim;
    const uint32_t key_value = options.kv_heads * options.head_dim;
    tensors.norm(prefix + "attn_norm.weight", options.embedding);
    matrix("attn_q", query, options.embedding);
    matrix("attn_k", key_value, options.embedding);
    matrix("attn_v", key_value, options.embedding);
    matrix("attn_output", options.embedding, query);
    if (options.architecture == RandomArchitecture::qwen3) {
        tensors.norm(prefix + "attn_q_norm.weight", options.head_dim);
        tensors.norm(prefix + "attn_k_norm.weight", options.head_dim);
    }
    tensors.norm(prefix + "ffn_norm.weight", options.embedding);
    matrix("ffn_gate", options.feed_forward, options.embedding);
    matrix("ffn_up", options.feed_forward, options.embedding);
    matrix("ffn_down", options.embedding, options.feed_forward);
}

} // namespace

uint32_t minimum_vocabulary(RandomArchitecture architecture) {
    return architecture == RandomArchitecture::llama ? minimum_sentencepiece_vocabulary
                                                     : minimum_bpe_vocabulary;
}

GgufWriter random_model_writer(const RandomModelOptions& options) {
    check(options);
    GgufWriter writer;
    add_keys(writer, options);
    add_tokenizer(writer, options);

    TensorMaker tensors(writer, options.seed);
    const double head_deviation = options.head_scale / std::sqrt(options.embedding);
    // A separate embedding has rows of unit size, as if it had just been normalised.
    tensors.matrix("token_embd.weight", options.vocabulary, options.embedding, options.embedding_format,
                   options.head == HeadKind::tied ? head_deviation : 1.0);
    if (options.rope_scaling == RopeScaling::llama3)
        tensors.vector("rope_freqs.weight", rope_divisors(options));
    for (uint32_t layer = 0; layer < options.layers; ++layer)
        add_layer(tensors, options, layer);
    tensors.norm("output_norm.weight", options.embedding);
    if (options.head == HeadKind::separate) {
        tensors.matrix("output.weight", options.vocabulary, options.embedding, options.head_format,
                       head_deviation);
    }
    return writer;
}

Bytes random_model(const RandomModelOptions& options) {
    return random_model_writer(options).bytes();
}

} // namespace etna::test
