#pragma once

#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace etna::test {

/// A vocabulary as a file would hold it, to be changed before it is written. Empty lists and texts are left
/// out.
struct SmallVocabulary {
    std::string model;
    std::string architecture = {};
    std::string pre = {};
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    std::vector<float> scores = {};
    std::vector<std::string> merges = {};
    std::vector<std::pair<std::string, uint32_t>> ids = {}; ///< {"bos", 1}: tokenizer.ggml.bos_token_id
    std::vector<std::pair<std::string, bool>> flags = {};   ///< {"add_bos_token", true}
    std::vector<uint8_t> character_map = {};                ///< precompiled_charsmap

    TokenId add(std::string token, text::TokenType type = text::TokenType::normal, float score = 0);
};

/// 256 bytes (token b is byte b), then merges of "the", " the", runs of 'a' and of spaces, <|im_end|>
/// (control) and <think> (user-defined). Pre-tokenizer gpt-2; neither BOS nor EOS is added.
SmallVocabulary small_bpe();

/// <unk> <s> </s>, the byte tokens (byte b is token 3 + b), "\u2581", some letters, "th", "the", "\u2581the",
/// runs of 'a' and of "\u2581". Adds BOS and the space prefix, the defaults of a file without these keys.
SmallVocabulary small_sentencepiece();

/// [PAD] [UNK] [CLS] [SEP], then "\u2581the", letters that begin words and letters that continue them, "ing",
/// a comma, and an ideograph. Texts get [CLS] and [SEP].
SmallVocabulary small_wordpiece();

/// <s> <pad> </s> <unk>, then "\u2581" and pieces of "the", "a" and "b" with the scores of their lengths.
/// Adds the space prefix.
SmallVocabulary small_unigram();

/// A trie's units and its texts as a precompiled_charsmap.
std::vector<uint8_t> character_map_of(const std::vector<uint32_t>& units, const std::string& texts);

/// A precompiled_charsmap of these rules, with a trie node for each prefix. The children of a node are at 256
/// times its number, as far as 22 bits of offset reach.
std::vector<uint8_t> character_map_of(const std::map<std::string, std::string>& rules);

/// Writes the file in memory and reads it.
Result<text::Tokenizer> build(const SmallVocabulary& vocabulary);

/// As build(); throws std::runtime_error with the message of an error.
text::Tokenizer require(const SmallVocabulary& vocabulary);

} // namespace etna::test
