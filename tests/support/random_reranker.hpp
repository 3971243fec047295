#pragma once

#include "tests/support/gguf_writer.hpp"

#include <cstdint>
#include <string_view>

namespace etna::test {

/// The template `rerank` of a RandomReranker::qwen3.
inline constexpr std::string_view random_rerank_template =
    "<|im_start|>system\nAnswer yes or no.<|im_end|>\n<|im_start|>user\n<Query>: {query}\n"
    "<Document>: {document}<|im_end|>\n<|im_start|>assistant\n";

enum class RandomReranker {
    bert, ///< scores pairs: `cls` (tanh) and `cls.output` of one row; words "w5", "w6", ... in WordPiece
    xlm_roberta, ///< the same, with the same words in a unigram vocabulary
    qwen3,       ///< chooses between yes and no: `cls.output` of two rows; byte-level BPE
};

enum class RerankerHead { with, without };

/// A tiny reranker, with the converters' names, shapes and keys.
Bytes random_reranker(RandomReranker kind, uint64_t seed = 1, RerankerHead head = RerankerHead::with);

} // namespace etna::test
