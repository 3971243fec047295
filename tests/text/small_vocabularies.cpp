#include "tests/text/small_vocabularies.hpp"

#include "core/text/byte_alphabet.hpp"
#include "tests/support/gguf_writer.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace etna::test {

using text::TokenType;

TokenId SmallVocabulary::add(std::string token, TokenType type, float score) {
    tokens.push_back(std::move(token));
    types.push_back(static_cast<int32_t>(type));
    if (model == "llama" || model == "t5")
        scores.push_back(score);
    return static_cast<TokenId>(tokens.size() - 1);
}

SmallVocabulary small_bpe() {
    SmallVocabulary vocabulary{.model = "gpt2", .pre = "gpt-2", .tokens = {}, .types = {}};
    for (unsigned byte = 0; byte < 256; ++byte)
        vocabulary.add(std::string(text::character_of_byte(static_cast<uint8_t>(byte))));
    const std::string space(text::character_of_byte(' '));
    const std::vector<std::pair<std::string, std::string>> merges = {{"t", "h"},
                                                                     {"th", "e"},
                                                                     {space, "the"},
                                                                     {"a", "a"},
                                                                     {"aa", "aa"},
                                                                     {space, space},
                                                                     {space + space, space + space}};
    for (const auto& [left, right] : merges) {
        vocabulary.add(left + right);
        vocabulary.merges.push_back(fmt::format("{} {}", left, right));
    }
    vocabulary.ids.emplace_back("eos", vocabulary.add("<|im_end|>", TokenType::control));
    vocabulary.add("<think>", TokenType::user_defined);
    return vocabulary;
}

SmallVocabulary small_sentencepiece() {
    SmallVocabulary vocabulary{.model = "llama", .tokens = {}, .types = {}};
    vocabulary.ids = {{"unknown", vocabulary.add("<unk>", TokenType::unknown)},
                      {"bos", vocabulary.add("<s>", TokenType::control)},
                      {"eos", vocabulary.add("</s>", TokenType::control)}};
    for (unsigned byte = 0; byte < 256; ++byte)
        vocabulary.add(fmt::format("<0x{:02X}>", byte), TokenType::byte);
    float score = -1;
    for (const char* piece : {"\u2581", "t", "h", "e", "a", "s", "<", ">", "/", "th", "the", "\u2581the",
                              "aa", "aaaa", "\u2581\u2581", "\u2581\u2581\u2581\u2581", "\u00e9"})
        vocabulary.add(piece, TokenType::normal, score -= 1);
    return vocabulary;
}

SmallVocabulary small_wordpiece() {
    SmallVocabulary vocabulary{.model = "bert", .tokens = {}, .types = {}};
    for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"})
        vocabulary.add(special, TokenType::control);
    for (const char* piece :
         {"\u2581the", "\u2581t", "\u2581h", "\u2581e", "\u2581a", "\u2581s", "t", "h", "e", "a", "s", "ing",
          "\u2581,", "\u2581\u5b57", "\u2581\u1112", "\u1161", "\u11ab"})
        vocabulary.add(piece);
    return vocabulary;
}

SmallVocabulary small_unigram() {
    SmallVocabulary vocabulary{.model = "t5", .tokens = {}, .types = {}};
    vocabulary.ids = {{"bos", vocabulary.add("<s>", TokenType::control)},
                      {"padding", vocabulary.add("<pad>", TokenType::control)},
                      {"eos", vocabulary.add("</s>", TokenType::control)},
                      {"unknown", vocabulary.add("<unk>", TokenType::unknown)}};
    for (const auto& [piece, score] : std::vector<std::pair<const char*, float>>{{"\u2581", -3.0F},
                                                                                 {"\u2581the", -4.0F},
                                                                                 {"th", -3.0F},
                                                                                 {"t", -5.0F},
                                                                                 {"h", -5.0F},
                                                                                 {"e", -4.0F},
                                                                                 {"he", -2.5F},
                                                                                 {"a", -4.0F},
                                                                                 {"aa", -6.0F},
                                                                                 {"aaa", -7.0F},
                                                                                 {"\u2581a", -3.5F}})
        vocabulary.add(piece, TokenType::normal, score);
    return vocabulary;
}

std::vector<uint8_t> character_map_of(const std::vector<uint32_t>& units, const std::string& texts) {
    const auto trie_bytes = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
    std::vector<uint8_t> bytes(sizeof trie_bytes + trie_bytes + texts.size());
    std::memcpy(bytes.data(), &trie_bytes, sizeof trie_bytes);
    std::memcpy(bytes.data() + sizeof trie_bytes, units.data(), trie_bytes);
    std::memcpy(bytes.data() + sizeof trie_bytes + trie_bytes, texts.data(), texts.size());
    return bytes;
}

std::vector<uint8_t> character_map_of(const std::map<std::string, std::string>& rules) {
    std::vector<uint32_t> units(256);
    std::string texts;
    const auto link = [&](uint32_t node, uint32_t to) { // the children of `node` are at `to` + label
        units[node] |= (node ^ to) >> 8 << 10 | 0x200;  // the offset counts 256
    };
    uint32_t next = 256;
    link(0, next);
    std::map<std::string, uint32_t> node_of{{"", 0}};
    std::map<std::string, uint32_t> children_of{{"", next}};
    units.resize(next + 256);
    for (const auto& [from, to] : rules) {
        for (std::size_t length = 1; length <= from.size(); ++length) {
            const std::string prefix = from.substr(0, length);
            if (node_of.contains(prefix))
                continue;
            const auto label = static_cast<uint8_t>(prefix.back());
            const uint32_t node = children_of[from.substr(0, length - 1)] ^ label;
            node_of[prefix] = node;
            units[node] |= label;
            next = static_cast<uint32_t>(units.size());
            units.resize(units.size() + 256);
            children_of[prefix] = next ^ (node & 0xFF);
            link(node, children_of[prefix]);
        }
        units[node_of[from]] |= 1U << 8; // has a leaf, the child with label 0
        units[children_of[from]] = static_cast<uint32_t>(texts.size()) | 0x80000000U;
        texts += to + '\0';
    }
    return character_map_of(units, texts);
}

Result<text::Tokenizer> build(const SmallVocabulary& vocabulary) {
    GgufWriter writer;
    if (!vocabulary.architecture.empty())
        writer.add("general.architecture", vocabulary.architecture);
    if (!vocabulary.model.empty())
        writer.add("tokenizer.ggml.model", vocabulary.model);
    if (!vocabulary.pre.empty())
        writer.add("tokenizer.ggml.pre", vocabulary.pre);
    if (!vocabulary.tokens.empty())
        writer.add_array("tokenizer.ggml.tokens", vocabulary.tokens);
    if (!vocabulary.types.empty())
        writer.add_array("tokenizer.ggml.token_type", vocabulary.types);
    if (!vocabulary.scores.empty())
        writer.add_array("tokenizer.ggml.scores", vocabulary.scores);
    if (!vocabulary.merges.empty())
        writer.add_array("tokenizer.ggml.merges", vocabulary.merges);
    for (const auto& [name, id] : vocabulary.ids)
        writer.add(fmt::format("tokenizer.ggml.{}_token_id", name), id);
    for (const auto& [name, flag] : vocabulary.flags)
        writer.add(fmt::format("tokenizer.ggml.{}", name), flag);
    if (!vocabulary.character_map.empty())
        writer.add_array("tokenizer.ggml.precompiled_charsmap", vocabulary.character_map);
    const Bytes bytes = writer.bytes();
    auto file = gguf::File::parse(bytes, "small.gguf");
    if (!file)
        return std::move(file).error();
    return text::Tokenizer::create(*file);
}

text::Tokenizer require(const SmallVocabulary& vocabulary) {
    auto tokenizer = build(vocabulary);
    if (!tokenizer)
        throw std::runtime_error(tokenizer.error().message);
    return std::move(tokenizer).value();
}

} // namespace etna::test
