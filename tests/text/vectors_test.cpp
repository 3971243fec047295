// Real vocabularies against expected token ids from other implementations.
#include "core/text/detokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/text/vocabularies.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::test {
namespace {

using text::AddBos;
using text::SpecialTokens;

struct Counts {
    std::size_t right = 0;
    std::size_t wrong = 0;
};

void compare(const text::Tokenizer& tokenizer, const TokenizerCase& one, const std::vector<TokenId>& expected,
             text::EncodeOptions options, Counts& counts) {
    const auto ids = tokenizer.encode(one.text, options);
    if (ids && *ids == expected) {
        ++counts.right;
        return;
    }
    ++counts.wrong;
    UNSCOPED_INFO(fmt::format("text     {:?}\nexpected {}\ngot      {}", one.text, expected,
                              ids ? fmt::format("{}", *ids) : ids.error().message));
    CHECK(false);
}

/// User-defined tokens are matched in every mode, so such a text has no plain encoding.
bool holds_user_defined(const text::Tokenizer& tokenizer, const std::string& text) {
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        if (tokenizer.type(token) == text::TokenType::user_defined &&
            text.find(tokenizer.bytes(token)) != std::string::npos)
            return true;
    }
    return false;
}

void check(const std::string& name, const text::Tokenizer& tokenizer, const TokenizerCases& cases) {
    REQUIRE(!cases.cases.empty());
    Counts counts;
    for (const TokenizerCase& one : cases.cases) {
        compare(tokenizer, one, one.ids, {.special = one.special, .bos = AddBos::never}, counts);
        if (one.plain_ids && !holds_user_defined(tokenizer, one.text)) {
            compare(tokenizer, one, *one.plain_ids, {.special = SpecialTokens::literal, .bos = AddBos::never},
                    counts);
        }
        if (one.ids_with_bos)
            compare(tokenizer, one, *one.ids_with_bos, {}, counts);
    }
    CHECK(counts.wrong == 0);
    std::cout << fmt::format("{}: {} of {} rows right, {} left out\n", name, counts.right,
                             counts.right + counts.wrong, cases.left_out);
}

} // namespace

TEST_CASE("bundled vocabularies give llama.cpp's token ids") {
    const auto [vocabulary, ids] = GENERATE(table<std::string, std::string>(
        {{"gpt-2", "gpt-2"}, {"phi-3", "phi-3"}, {"qwen3", "qwen2"}, {"smollm2", "smollm"}}));
    check(ids + ".out", bundled_vocabulary(vocabulary),
          read_vectors(bundled_folder() / "texts.inp", bundled_folder() / (ids + ".out")));
}

TEST_CASE("bundled vocabularies give the official libraries' token ids") {
    const auto [name, oracle] = GENERATE(
        table<std::string, Oracle>({{"qwen3", Oracle::normalises}, {"smollm2", Oracle::parses_specials}}));
    check(name + ".jsonl", bundled_vocabulary(name),
          read_json_lines(bundled_folder() / (name + ".jsonl.gz"), oracle));
}

TEST_CASE("reference vocabularies give the expected token ids") {
    struct Row {
        std::string vocabulary;
        std::string expected; ///< vocab-vectors/ggml-vocab-NAME.gguf.out, or tokenizers-expected/NAME.jsonl
        Oracle oracle = Oracle::parses_specials;
    };
    const std::vector<Row> rows = {
        {"ggml-vocab-llama-spm", "llama-spm"},
        {"vocab-llama3", "llama-bpe"},
        {"vocab-qwen3", "deepseek-r1-qwen"},
        {"ggml-vocab-falcon", "falcon"},
        {"ggml-vocab-starcoder", "starcoder"},
        {"ggml-vocab-deepseek-coder", "deepseek-coder"},
        {"ggml-vocab-deepseek-llm", "deepseek-llm"},
        {"vocab-gpt-oss", "gpt-4o"},
        {"ggml-vocab-llama-spm", "llama-spm.jsonl", Oracle::knows_no_specials},
        {"vocab-llama3", "llama3.jsonl"},
        {"vocab-gpt-oss", "gpt-oss.jsonl"},
        {"vocab-gemma3-spm", "gemma3.jsonl"},
    };
    const auto folder = reference_folder();
    if (!folder) {
        std::cout << fmt::format("not run: {} (vocabularies that ETNA_REFERENCE_DATA would name)\n",
                                 rows.size());
        return;
    }
    for (const Row& row : rows) {
        const auto tokenizer = open_vocabulary(*folder / "vocab" / (row.vocabulary + ".gguf.gz"));
        const auto vectors = *folder / "vocab-vectors" / ("ggml-vocab-" + row.expected + ".gguf");
        check(row.expected, tokenizer,
              row.expected.ends_with(".jsonl")
                  ? read_json_lines(*folder / "tokenizers-expected" / row.expected, row.oracle)
                  : read_vectors(vectors.string() + ".inp", vectors.string() + ".out"));
    }
}

TEST_CASE("cl100k's vocabulary gives llama.cpp's token ids for DBRX and StableLM 2") {
    const auto folder = reference_folder();
    if (!folder) {
        std::cout << "not run: 2 (a vocabulary that ETNA_REFERENCE_DATA would name)\n";
        return;
    }
    const std::string name = GENERATE("dbrx", "stablelm2");
    const auto vectors = *folder / "vocab-vectors" / ("ggml-vocab-" + name + ".gguf");
    check(name, cl100k_vocabulary(*folder / "vocab" / "vocab-llama3.gguf.gz", name),
          read_vectors(vectors.string() + ".inp", vectors.string() + ".out"));
}

TEST_CASE("tokenizer.json files give the token ids of another implementation", "[tokenizers]") {
    const char* folder = std::getenv("ETNA_TOKENIZER_CASES");
    if (folder == nullptr) {
        std::cout << "not run: tokenizer.json files (scripts/test --long tokenizers)\n";
        return;
    }
    std::vector<std::filesystem::path> vocabularies;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".gguf")
            vocabularies.push_back(entry.path());
    }
    REQUIRE(!vocabularies.empty());
    std::ranges::sort(vocabularies);
    for (const auto& path : vocabularies) {
        check(path.stem(), open_vocabulary(path),
              read_json_lines(std::filesystem::path(path).replace_extension(".jsonl"),
                              Oracle::parses_specials));
    }
}

} // namespace etna::test
