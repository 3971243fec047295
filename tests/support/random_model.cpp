#include "tests/support/random_model.hpp"

#include "tests/support/random_tokenizer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <stdexcept>

#include <fmt/format.h>

namespace etna::test {

const std::string_view chatml_template =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

namespace {

/// Numbers of about normal distribution, the same everywhere: std::mt19937_64 is defined to the bit, what
/// follows is plain arithmetic (the sum of four uniform numbers, brought to mean 0 and standard deviation 1).
class NormalNumbers {
public:
    explicit NormalNumbers(uint64_t seed) : generator_(seed) {}

    double next() {
        double sum = 0;
        for (int i = 0; i < 4; ++i)
            sum += static_cast<double>(generator_() >> 11) * 0x1p-53;
        return (sum - 2.0) * 1.7320508075688772; // each uniform number has the variance 1/12
    }

private:
    std::mt19937_64 generator_;
};

/// IEEE 754 binary16, rounded to nearest, ties to even. Finite input.
uint16_t to_half(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
    const double magnitude = std::fabs(static_cast<double>(value));
    if (magnitude < 0x1p-14) // subnormal: multiples of 2^-24
        return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24)));
    const uint32_t rounded = (bits & 0x7fffffff) + 0xfff + ((bits >> 13) & 1);
    const uint32_t half = (rounded >> 13) - ((127 - 15) << 10);
    return static_cast<uint16_t>(sign | std::min<uint32_t>(half, 0x7c00));
}

float from_half(uint16_t half) {
    const int exponent = (half >> 10) & 31;
    const int mantissa = half & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return static_cast<float>((half & 0x8000) != 0 ? -magnitude : magnitude);
}

/// The upper half of a float, rounded to nearest, ties to even. Finite input.
uint16_t to_bfloat16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

constexpr std::size_t q8_0_block = 32;

/// Q8_0: for 32 values a scale as binary16 and 32 signed bytes.
void append_q8_0(Bytes& bytes, const float* values) {
    float largest = 0;
    for (std::size_t i = 0; i < q8_0_block; ++i)
        largest = std::max(largest, std::fabs(values[i]));
    const uint16_t scale = to_half(largest / 127.0F);
    append(bytes, scale);
    const float step = from_half(scale);
    for (std::size_t i = 0; i < q8_0_block; ++i) {
        const float quantum = step == 0 ? 0.0F : std::nearbyint(values[i] / step);
        append(bytes, static_cast<int8_t>(std::clamp(quantum, -127.0F, 127.0F)));
    }
}

uint32_t type_number(WeightFormat format) {
    switch (format) {
    case WeightFormat::f32:
        return 0;
    case WeightFormat::f16:
        return 1;
    case WeightFormat::bf16:
        return 30;
    case WeightFormat::q8_0:
        return 8;
    }
    throw std::invalid_argument("no such weight format");
}

Bytes encode(const std::vector<float>& values, WeightFormat format) {
    Bytes bytes;
    for (std::size_t i = 0; i < values.size(); i += format == WeightFormat::q8_0 ? q8_0_block : 1) {
        switch (format) {
        case WeightFormat::f32:
            append(bytes, values[i]);
            break;
        case WeightFormat::f16:
            append(bytes, to_half(values[i]));
            break;
        case WeightFormat::bf16:
            append(bytes, to_bfloat16(values[i]));
            break;
        case WeightFormat::q8_0:
            append_q8_0(bytes, &values[i]);
            break;
        }
    }
    return bytes;
}

/// Adds the tensors of one model, drawing weights in the order of the calls.
class TensorMaker {
public:
    TensorMaker(GgufWriter& writer, uint64_t seed) : writer_(writer), numbers_(seed) {}

    void matrix(const std::string& name, uint32_t rows, uint32_t columns, WeightFormat format,
                double deviation) {
        if (format == WeightFormat::q8_0 && columns % q8_0_block != 0)
            throw std::invalid_argument(fmt::format("{}: rows of {} elements cannot be Q8_0", name, columns));
        std::vector<float> values(std::size_t{rows} * columns);
        for (float& value : values)
            value = static_cast<float>(numbers_.next() * deviation);
        writer_.add_tensor({name, type_number(format), {columns, rows}, encode(values, format)});
    }

    /// Weights of an RMS norm: around 1.
    void norm(const std::string& name, uint32_t size) {
        std::vector<float> values(size);
        for (float& value : values)
            value = static_cast<float>(1.0 + 0.1 * numbers_.next());
        vector(name, values);
    }

    void vector(const std::string& name, const std::vector<float>& values) {
        writer_.add_tensor(
            {name, type_number(WeightFormat::f32), {values.size()}, encode(values, WeightFormat::f32)});
    }

private:
    GgufWriter& writer_;
    NormalNumbers numbers_;
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
    const auto matrix = [&](const char* name, uint32_t rows, uint32_t columns) {
        tensors.matrix(prefix + name, rows, columns, options.matrices, options.scale / std::sqrt(columns));
    };
    const uint32_t query = options.heads * options.head_dim;
    const uint32_t key_value = options.kv_heads * options.head_dim;
    tensors.norm(prefix + "attn_norm.weight", options.embedding);
    matrix("attn_q.weight", query, options.embedding);
    matrix("attn_k.weight", key_value, options.embedding);
    matrix("attn_v.weight", key_value, options.embedding);
    matrix("attn_output.weight", options.embedding, query);
    if (options.architecture == RandomArchitecture::qwen3) {
        tensors.norm(prefix + "attn_q_norm.weight", options.head_dim);
        tensors.norm(prefix + "attn_k_norm.weight", options.head_dim);
    }
    tensors.norm(prefix + "ffn_norm.weight", options.embedding);
    matrix("ffn_gate.weight", options.feed_forward, options.embedding);
    matrix("ffn_up.weight", options.feed_forward, options.embedding);
    matrix("ffn_down.weight", options.embedding, options.feed_forward);
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
