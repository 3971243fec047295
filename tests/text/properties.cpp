#include "tests/text/properties.hpp"

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/stop_matcher.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <stdexcept>

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

} // namespace

std::optional<std::string> broken_property(std::string_view text) {
    static const text::Tokenizer bpe = require(small_bpe());
    static const text::Tokenizer spm = require(small_sentencepiece());
    const std::string same(text);
    if (auto failure = broken("BPE, parse", bpe, text, SpecialTokens::parse, same))
        return failure;
    if (auto failure = broken("BPE, literal", bpe, text, SpecialTokens::literal, same))
        return failure;
    if (!text.empty()) {
        if (auto failure = broken("SPM, literal", spm, text, SpecialTokens::literal, with_spaces(text)))
            return failure;
    }
    const auto parsed = spm.encode(text, {});
    if (!parsed)
        return fmt::format("SPM, parse: {}", parsed.error().message);
    return std::nullopt;
}

} // namespace etna::test
