#include "core/text/wordpiece.hpp"

#include "core/base/utf8.hpp"
#include "core/text/unicode.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace etna::text {
namespace {

struct CodePointRange {
    char32_t first = 0;
    char32_t last = 0;
};

/// Longer words become the unknown token: the limit of the reference implementation.
constexpr std::size_t word_characters_max = 100;

constexpr char32_t replacement = 0xFFFD;

/// The blocks of tokenization.py, _is_chinese_char.
bool is_ideograph(char32_t one) {
    constexpr std::array<CodePointRange, 8> blocks{{{0x4E00, 0x9FFF},
                                                    {0x3400, 0x4DBF},
                                                    {0x20000, 0x2A6DF},
                                                    {0x2A700, 0x2B73F},
                                                    {0x2B740, 0x2B81F},
                                                    {0x2B820, 0x2CEAF},
                                                    {0xF900, 0xFAFF},
                                                    {0x2F800, 0x2FA1F}}};
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](const CodePointRange& block) { return one >= block.first && one <= block.last; });
}

/// Whether the character is punctuation, or ASCII other than a letter, a digit or a space.
bool stands_alone(char32_t one) {
    const bool is_ascii = (one >= 33 && one <= 47) || (one >= 58 && one <= 64) || (one >= 91 && one <= 96) ||
                          (one >= 123 && one <= 126);
    return is_ascii || is_punctuation(one);
}

/// Removes the next character from the text and returns it; empty for an invalid sequence.
std::optional<char32_t> take_character(std::string_view& text) {
    const Utf8Step step = next_utf8(text);
    const std::string_view character = text;
    text.remove_prefix(step.bytes);
    if (step.kind != Utf8Kind::valid)
        return std::nullopt;
    return code_point_of(character, step.bytes);
}

bool is_space(char32_t one) {
    return one == '\t' || one == '\n' || one == '\r' || (is_white_space(one) && !is_other(one));
}

} // namespace

Result<WordPiece> WordPiece::create(const gguf::File& file, const Vocabulary& vocabulary) {
    const auto unknown = vocabulary.special.unknown ? vocabulary.special.unknown : vocabulary.find("[UNK]");
    if (!unknown) {
        return Error{ErrorKind::corrupt, fmt::format("{}: the vocabulary has no unknown token", file.name()),
                     "convert the model again"};
    }
    return WordPiece(vocabulary, *unknown);
}

Status WordPiece::encode(std::string_view text, TokenizeBudget& budget, std::vector<TokenId>& tokens) const {
    std::u32string word;
    std::u32string parts;
    const auto end_word = [&]() -> Status {
        ETNA_CHECK(append_word(word, budget, tokens));
        word.clear();
        return {};
    };
    while (!text.empty()) {
        if (budget.is_over())
            return TokenizeBudget::error();
        const auto character = take_character(text);
        if (!character || *character == 0 || *character == replacement)
            continue;
        if (is_space(*character)) {
            ETNA_CHECK(end_word());
            continue;
        }
        if (is_other(*character))
            continue;
        const bool is_alone = is_ideograph(*character);
        if (is_alone)
            ETNA_CHECK(end_word());
        parts.clear();
        append_decomposed(*character, parts);
        for (const char32_t part : parts) {
            if (is_nonspacing_mark(part))
                continue;
            const bool is_symbol = stands_alone(part);
            if (is_symbol)
                ETNA_CHECK(end_word());
            if (word.size() <= word_characters_max)
                word += to_lower(part);
            if (is_symbol)
                ETNA_CHECK(end_word());
        }
        if (is_alone)
            ETNA_CHECK(end_word());
    }
    ETNA_CHECK(end_word());
    return {};
}

Status WordPiece::append_word(const std::u32string& word, TokenizeBudget& budget,
                              std::vector<TokenId>& tokens) const {
    if (word.empty())
        return {};
    std::string text(space_mark);
    for (const char32_t character : word)
        append_utf8(text, character);
    if (!budget.may_extend(tokens, text.size() - space_mark.size()))
        return TokenizeBudget::no_memory();
    const std::size_t before = tokens.size();
    for (std::size_t begin = 0; begin < text.size() && word.size() <= word_characters_max;) {
        // In a token that starts a word, a character follows the mark.
        const std::size_t shortest = begin == 0 ? space_mark.size() + 1 : 1;
        std::optional<TokenId> token;
        std::size_t token_end = begin;
        SortedNames::Prefix prefix = names_.all();
        for (std::size_t end = begin; end < text.size() && !prefix.is_empty();) {
            if (budget.is_over())
                return TokenizeBudget::error();
            prefix = names_.extended(prefix, text[end++]);
            const auto value = names_.value_at(prefix);
            if (!value || prefix.bytes < shortest)
                continue;
            token = value;
            token_end = end;
        }
        if (!token) {
            tokens.resize(before);
            break;
        }
        tokens.push_back(*token);
        begin = token_end;
    }
    if (tokens.size() == before)
        tokens.push_back(unknown_);
    return {};
}

} // namespace etna::text
