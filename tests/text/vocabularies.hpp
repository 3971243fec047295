#pragma once

#include "core/text/tokenizer.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace etna::test {

/// The tokenizer of a gzipped GGUF file. Throws std::runtime_error with the path and the reason.
text::Tokenizer open_vocabulary(const std::filesystem::path& path);

/// tests/data/vocab/NAME.gguf.gz
text::Tokenizer bundled_vocabulary(const std::string& name);

/// OpenAI's cl100k vocabulary with pre-tokenizer `pre`, taken from Llama 3's, which holds it as its first
/// 100256 tokens (`path`): DBRX and StableLM 2 number the same tokens the same way. Throws
/// std::runtime_error.
text::Tokenizer cl100k_vocabulary(const std::filesystem::path& path, const std::string& pre);

/// tests/data/vocab
std::filesystem::path bundled_folder();

/// The folder named by the environment variable ETNA_REFERENCE_DATA, if it is set.
std::optional<std::filesystem::path> reference_folder();

struct TokenizerCase {
    std::string text;
    std::vector<TokenId> ids; ///< without BOS
    text::SpecialTokens special = text::SpecialTokens::parse;
    std::optional<std::vector<TokenId>> plain_ids = {}; ///< without matching any added token, if that differs
    std::optional<std::vector<TokenId>> ids_with_bos = {};
};

struct TokenizerCases {
    std::vector<TokenizerCase> cases;
    std::size_t left_out = 0; ///< rows that the oracle doubts or has normalised before tokenizing
};

/// llama.cpp's pairs of texts and ids. Throws std::runtime_error.
TokenizerCases read_vectors(const std::filesystem::path& texts, const std::filesystem::path& ids);

enum class Oracle {
    parses_specials,
    normalises,        ///< as above; a row that it decodes to another text was normalised and is left out
    knows_no_specials, ///< all is text; where two engines differ, the one that treats "<s>" as text is right
};
/// JSON lines, gzipped or not. Throws std::runtime_error.
TokenizerCases read_json_lines(const std::filesystem::path& path, Oracle oracle);

} // namespace etna::test
