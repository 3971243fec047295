#include "core/text/infill.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <fmt/format.h>

using namespace etna;

namespace {

/// A file that lists these ids, by the middle of their keys.
std::optional<text::InfillTokens>
infill_tokens(const test::SmallVocabulary& vocabulary,
              const std::vector<std::pair<std::string, uint32_t>>& ids = {}) {
    test::GgufWriter writer;
    for (const auto& [name, id] : ids)
        writer.add(fmt::format("tokenizer.ggml.{}_token_id", name), id);
    const test::Bytes bytes = writer.bytes();
    const auto tokenizer = test::build(vocabulary);
    REQUIRE(tokenizer.has_value());
    return text::find_infill_tokens(gguf::File::parse(bytes, "small").value(), *tokenizer);
}

} // namespace

TEST_CASE("fill-in-the-middle tokens are read from the file's list, otherwise found by name") {
    test::SmallVocabulary vocabulary = test::small_bpe();
    CHECK(!infill_tokens(vocabulary));
    CHECK(!infill_tokens(vocabulary, {{"fim_pre", 1}, {"fim_suf", 2}})); // one is missing
    CHECK(!infill_tokens(vocabulary, {{"fim_pre", 1}, {"fim_suf", 2}, {"fim_mid", 1U << 30}}));
    for (const auto& names :
         {std::array{"fim_pre", "fim_suf", "fim_mid"}, std::array{"prefix", "suffix", "middle"}}) {
        const auto listed = infill_tokens(vocabulary, {{names[0], 1}, {names[1], 2}, {names[2], 3}});
        REQUIRE(listed.has_value());
        CHECK((listed->prefix == 1 && listed->suffix == 2 && listed->middle == 3));
    }
    const TokenId prefix = vocabulary.add("<|fim_prefix|>", text::TokenType::control);
    const TokenId middle = vocabulary.add("<|fim_middle|>", text::TokenType::control);
    CHECK(!infill_tokens(vocabulary));
    const TokenId suffix = vocabulary.add("<|fim_suffix|>", text::TokenType::control);
    const auto named = infill_tokens(vocabulary);
    REQUIRE(named.has_value());
    CHECK((named->prefix == prefix && named->suffix == suffix && named->middle == middle));
    CHECK((!named->repository && !named->file_separator));
    const TokenId repository = vocabulary.add("<|repo_name|>", text::TokenType::control);
    const TokenId separator = vocabulary.add("<|file_sep|>", text::TokenType::control);
    const auto several = infill_tokens(vocabulary);
    REQUIRE(several.has_value());
    CHECK((several->repository == repository && several->file_separator == separator));
    const auto listed = infill_tokens(vocabulary, {{"fim_rep", 4}, {"fim_sep", 5}});
    REQUIRE(listed.has_value());
    CHECK((listed->repository == 4U && listed->file_separator == 5U));
}
