#pragma once

#include "tests/support/gguf_writer.hpp"
#include "tests/support/weight_format.hpp"

#include <cstdint>
#include <string_view>

namespace etna::test {

enum class EncoderTokenizer {
    none,
    wordpiece, ///< BERT's: [PAD] [UNK] [CLS] [SEP] [MASK], and words "w5", "w6", ...
    unigram,   ///< XLM-RoBERTa's: <s> <pad> </s> <unk> <mask>, and the same words
};

/// A tiny encoder of texts, with the converters' names and shapes.
struct RandomEncoderOptions {
    std::string_view architecture = "bert"; ///< one of all_random_encoders
    uint32_t layers = 2;
    uint32_t embedding = 64;
    uint32_t heads = 4; ///< divides `embedding` into even parts
    uint32_t feed_forward = 96;
    uint32_t vocabulary = 200;
    uint32_t context = 256;
    uint32_t kv_heads = 0;    ///< gemma-embedding; 0: heads
    uint32_t head_dim = 16;   ///< the same
    uint32_t token_types = 2; ///< bert, nomic-bert, jina-bert-v2
    uint32_t window = 24;     ///< modern-bert, gemma-embedding
    uint32_t pooling = 1;     ///< pooling_type
    EncoderTokenizer tokenizer = EncoderTokenizer::none;
    WeightFormat matrices = WeightFormat::f32;
    uint64_t seed = 1;
};

constexpr std::string_view all_random_encoders[] = {"bert", "nomic-bert", "modern-bert", "gemma-embedding",
                                                    "jina-bert-v2"};

GgufWriter random_encoder_writer(const RandomEncoderOptions& options);
Bytes random_encoder(const RandomEncoderOptions& options);

} // namespace etna::test
