#include "tests/support/random_tokenizer.hpp"

#include <fmt/format.h>

namespace etna::test {
namespace {

// tokenizer.ggml.token_type
constexpr int32_t normal = 1;
constexpr int32_t unknown = 2;
constexpr int32_t control = 3;
constexpr int32_t unused = 5;
constexpr int32_t byte = 6;

struct Vocabulary {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;

    void add(std::string token, int32_t type) {
        tokens.push_back(std::move(token));
        types.push_back(type);
    }
    [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(tokens.size()); }
};

/// UTF-8 of a code point below 0x800.
std::string utf8(uint32_t code_point) {
    if (code_point < 0x80)
        return {static_cast<char>(code_point)};
    return {static_cast<char>(0xc0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3f))};
}

/// The visible character that byte-level BPE writes for a byte (GPT-2, bytes_to_unicode): bytes that are
/// visible in Latin-1 map to themselves, the others to U+0100 onwards.
std::vector<std::string> byte_characters() {
    std::vector<std::string> characters;
    uint32_t replacement = 0x100;
    for (uint32_t value = 0; value < 256; ++value) {
        const bool visible =
            (value >= 0x21 && value <= 0x7e) || (value >= 0xa1 && value <= 0xac) || value >= 0xae;
        characters.push_back(utf8(visible ? value : replacement++));
    }
    return characters;
}

/// Left and right half in the alphabet of byte_characters ("\u0120" is the space); in order of rank.
constexpr std::pair<const char*, const char*> merges[] = {
    {"\u0120", "t"}, {"h", "e"},  {"i", "n"},      {"\u0120", "a"}, {"\u0120t", "he"}, {"e", "r"},
    {"o", "n"},      {"r", "e"},  {"n", "d"},      {"\u0120", "s"}, {"\u0120a", "nd"}, {"o", "u"},
    {"l", "l"},      {"e", "ll"}, {"\u0120", "w"}, {"in", "g"},     {"\u0120", "o"},   {"a", "t"},
};

/// "\u2581" is SentencePiece's space; earlier pieces score higher.
constexpr const char* pieces[] = {
    "\u2581t", "he", "in", "\u2581a", "\u2581the", "er", "on", "re", "nd", "\u2581s", "ou", "ll", "\u2581",
    "e",       "t",  "a",  "o",       "n",         "i",  "h",  "s",  "r",  "d",       "l",  "u",  "w",
    "g",       "m",  "y",  "c",       "f",         "b",  "p",  ".",  ",",  "k",       "v",  "\n"};

} // namespace

void add_bpe_tokenizer(GgufWriter& writer, uint32_t size) {
    constexpr uint32_t special_tokens = 3;
    Vocabulary vocabulary;
    for (std::string& character : byte_characters())
        vocabulary.add(std::move(character), normal);
    std::vector<std::string> merge_lines;
    for (const auto& [left, right] : merges) {
        if (vocabulary.size() + special_tokens >= size)
            break;
        vocabulary.add(std::string(left) + right, normal);
        merge_lines.push_back(std::string(left) + " " + right);
    }
    while (vocabulary.size() + special_tokens < size)
        vocabulary.add(fmt::format("<|unused{}|>", vocabulary.size()), unused);
    vocabulary.add("<|endoftext|>", control);
    vocabulary.add("<|im_start|>", control);
    vocabulary.add("<|im_end|>", control);

    writer.add("tokenizer.ggml.model", "gpt2");
    writer.add("tokenizer.ggml.pre", "qwen2");
    writer.add_array("tokenizer.ggml.tokens", vocabulary.tokens);
    writer.add_array("tokenizer.ggml.token_type", vocabulary.types);
    writer.add_array("tokenizer.ggml.merges", merge_lines);
    writer.add("tokenizer.ggml.bos_token_id", size - 3);
    writer.add("tokenizer.ggml.eos_token_id", size - 1);
    writer.add("tokenizer.ggml.padding_token_id", size - 3);
    writer.add("tokenizer.ggml.add_bos_token", false);
}

void add_sentencepiece_tokenizer(GgufWriter& writer, uint32_t size) {
    Vocabulary vocabulary;
    vocabulary.add("<unk>", unknown);
    vocabulary.add("<s>", control);
    vocabulary.add("</s>", control);
    for (uint32_t value = 0; value < 256; ++value)
        vocabulary.add(fmt::format("<0x{:02X}>", value), byte);
    std::vector<float> scores(vocabulary.size(), 0.0F);
    float score = 0.0F;
    for (const char* piece : pieces) {
        if (vocabulary.size() >= size)
            break;
        vocabulary.add(piece, normal);
        scores.push_back(score -= 1.0F);
    }
    while (vocabulary.size() < size) {
        vocabulary.add(fmt::format("<unused{}>", vocabulary.size()), unused);
        scores.push_back(score -= 1.0F);
    }
    writer.add("tokenizer.ggml.model", "llama");
    writer.add("tokenizer.ggml.pre", "default");
    writer.add_array("tokenizer.ggml.tokens", vocabulary.tokens);
    writer.add_array("tokenizer.ggml.scores", scores);
    writer.add_array("tokenizer.ggml.token_type", vocabulary.types);
    writer.add("tokenizer.ggml.unknown_token_id", uint32_t{0});
    writer.add("tokenizer.ggml.bos_token_id", uint32_t{1});
    writer.add("tokenizer.ggml.eos_token_id", uint32_t{2});
    writer.add("tokenizer.ggml.add_bos_token", true);
}

} // namespace etna::test
