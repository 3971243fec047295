#include "tests/text/properties.hpp"

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/stop_matcher.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::test {
namespace {

using text::SpecialTokens;

std::string with_spaces(std::string_view text) {
    constexpr std::string_view mark = "\u2581";
    std::string result = " ";
    while (!text.empty()) {
        const bool is_mark = text.starts_with(mark);
        result += is_mark ? ' ' : text[0];
        text.remove_prefix(is_mark ? mark.size() : 1);
    }
    return result;
}

std::optional<std::string> broken(std::string_view name, const text::Tokenizer& tokenizer,
                                  std::string_view text, SpecialTokens special, const std::string& expected) {
    const auto tokens = tokenizer.encode(text, {.special = special, .bos = text::AddBos::never});
    if (!tokens)
        return fmt::format("{}: {}", name, tokens.error().message);
    std::string bytes;
    for (const TokenId token : *tokens) {
        if (token >= tokenizer.size())
            return fmt::format("{}: token {} of {}", name, token, tokenizer.size());
        if (special == SpecialTokens::literal && tokenizer.type(token) == text::TokenType::control)
            return fmt::format("{}: a control token in literal text", name);
        bytes += tokenizer.bytes(token);
    }
    if (bytes != expected)
        return fmt::format("{}: {:?} became {:?}", name, expected, bytes);

    text::StopMatcher stops({"the", "aab"});
    std::string shown;
    text::Detokenizer detokenizer(tokenizer, {.control = text::ControlTokens::shown});
    for (const TokenId token : *tokens)
        shown += stops.push(detokenizer.push(token));
    shown += stops.push(detokenizer.flush());
    shown += stops.flush();
    if (valid_utf8_prefix(shown) != shown.size())
        return fmt::format("{}: {:?} is not UTF-8", name, shown);
    const std::string whole = decode(tokenizer, *tokens, {.control = text::ControlTokens::shown});
    if (!whole.starts_with(shown))
        return fmt::format("{}: {:?} does not begin {:?}", name, shown, whole);
    return std::nullopt;
}

/// Of a tokenizer that changes the text: words have the tokens that they have alone.
std::optional<std::string> broken_pieces(std::string_view name, const text::Tokenizer& tokenizer,
                                         std::string_view text) {
    const text::EncodeOptions options{.special = SpecialTokens::literal, .bos = text::AddBos::never};
    const auto tokens = tokenizer.encode(text, options);
    if (!tokens)
        return fmt::format("{}: {}", name, tokens.error().message);
    const auto unknown = tokenizer.find("[UNK]"); // a control token in BERT's files
    for (const TokenId token : *tokens) {
        if (token >= tokenizer.size() ||
            (tokenizer.type(token) == text::TokenType::control && token != unknown))
            return fmt::format("{}: token {} in literal text", name, token);
    }
    const auto twice = tokenizer.encode(std::string(text) + "  the " + std::string(text), options);
    const auto middle = tokenizer.encode("the", options);
    if (!twice || !middle || valid_utf8_prefix(text) != text.size())
        return std::nullopt;
    std::vector<TokenId> expected = *tokens;
    expected.insert(expected.end(), middle->begin(), middle->end());
    expected.insert(expected.end(), tokens->begin(), tokens->end());
    if (*twice != expected)
        return fmt::format("{}: {:?} has other tokens beside other words", name, text);
    return std::nullopt;
}

} // namespace

std::optional<std::string> broken_property(std::string_view text) {
    static const text::Tokenizer bpe = require(small_bpe());
    static const text::Tokenizer spm = require(small_sentencepiece());
    static const text::Tokenizer wordpiece = require(small_wordpiece());
    static const text::Tokenizer unigram = require(small_unigram());
    const std::string same(text);
    if (auto failure = broken("BPE, parse", bpe, text, SpecialTokens::parse, same))
        return failure;
    if (auto failure = broken("BPE, literal", bpe, text, SpecialTokens::literal, same))
        return failure;
    if (!text.empty()) {
        if (auto failure = broken("SPM, literal", spm, text, SpecialTokens::literal, with_spaces(text)))
            return failure;
    }
    for (const auto& [name, tokenizer] :
         {std::pair("WordPiece", &wordpiece), std::pair("unigram", &unigram)}) {
        if (auto failure = broken_pieces(name, *tokenizer, text))
            return failure;
    }
    const auto parsed = spm.encode(text, {});
    if (!parsed)
        return fmt::format("SPM, parse: {}", parsed.error().message);
    return std::nullopt;
}

} // namespace etna::test
