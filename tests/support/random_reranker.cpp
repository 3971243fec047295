#include "tests/support/random_reranker.hpp"

#include "tests/support/random_encoder.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/tensor_maker.hpp"

#include <string>
#include <vector>

namespace etna::test {
namespace {

constexpr uint32_t rank_pooling = 4; // llama.cpp's number
constexpr uint64_t head_seed = 1000; // the head's weights are not the model's
constexpr double head_deviation = 0.3;

Bytes encoder_with_head(RandomReranker kind, uint64_t seed, RerankerHead head) {
    const bool is_roberta = kind == RandomReranker::xlm_roberta;
    const RandomEncoderOptions options{.token_types = is_roberta ? 1U : 2U,
                                       .pooling = rank_pooling,
                                       .tokenizer = is_roberta ? EncoderTokenizer::unigram
                                                               : EncoderTokenizer::wordpiece,
                                       .seed = seed};
    GgufWriter writer = random_encoder_writer(options);
    if (!is_roberta) {
        writer.add("tokenizer.ggml.add_bos_token", true);
        writer.add("tokenizer.ggml.add_eos_token", true);
    }
    writer.add("tokenizer.ggml.add_sep_token", is_roberta);
    if (head == RerankerHead::without)
        return writer.bytes();
    TensorMaker maker(writer, head_seed + seed);
    maker.matrix("cls.weight", options.embedding, options.embedding, WeightFormat::f32, head_deviation);
    maker.bias("cls.bias", options.embedding);
    maker.matrix("cls.output.weight", 1, options.embedding, WeightFormat::f32, head_deviation);
    maker.bias("cls.output.bias", 1);
    return writer.bytes();
}

Bytes decoder_with_head(uint64_t seed, RerankerHead head) {
    const RandomModelOptions options{.architecture = RandomArchitecture::qwen3, .seed = seed};
    GgufWriter writer = random_model_writer(options);
    writer.add("qwen3.pooling_type", rank_pooling);
    writer.add_array("qwen3.classifier.output_labels", std::vector<std::string>{"yes", "no"});
    writer.add("tokenizer.chat_template.rerank", std::string(random_rerank_template));
    if (head == RerankerHead::without)
        return writer.bytes();
    TensorMaker maker(writer, head_seed + seed);
    maker.matrix("cls.output.weight", 2, options.embedding, WeightFormat::f16, head_deviation);
    return writer.bytes();
}

} // namespace

Bytes random_reranker(RandomReranker kind, uint64_t seed, RerankerHead head) {
    return kind == RandomReranker::qwen3 ? decoder_with_head(seed, head)
                                         : encoder_with_head(kind, seed, head);
}

} // namespace etna::test
