#pragma once

#include "tests/support/gguf_writer.hpp"

#include <cstdint>

namespace etna::test {

constexpr uint32_t minimum_bpe_vocabulary = 256 + 3;           ///< bytes, and three special tokens at the end
constexpr uint32_t minimum_sentencepiece_vocabulary = 3 + 256; ///< <unk> <s> </s>, and bytes

/// Adds a byte-level BPE vocabulary (`gpt2`, pre-tokenizer `qwen2`) of `size` tokens: 256 bytes, as many of a
/// few common merges as fit, unused tokens, and last <|endoftext|>, <|im_start|> and <|im_end|> (the end of a
/// turn).
void add_bpe_tokenizer(GgufWriter& writer, uint32_t size);

/// Adds a SentencePiece vocabulary (`llama`) of `size` tokens: <unk>, <s>, </s>, 256 bytes, as many of a few
/// common pieces as fit, unused tokens.
void add_sentencepiece_tokenizer(GgufWriter& writer, uint32_t size);

} // namespace etna::test
