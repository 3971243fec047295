#include "core/text/character_bpe.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::text {
Result<CharacterBpe> CharacterBpe::create(const gguf::File& file, const Vocabulary& vocabulary) {
    ETNA_TRY(MergeTable merges, MergeTable::read(file, vocabulary));
    return CharacterBpe(vocabulary, std::move(merges));
}

Status CharacterBpe::encode(std::string_view text, TokenizeBudget& budget,
                            std::vector<TokenId>& tokens) const {
    Scratch scratch;
    for (std::size_t begin = 0; begin < text.size();) {
        const bool is_break = text[begin] == '\n';
        const std::size_t end =
            std::min(is_break ? text.find_first_not_of('\n', begin) : text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        begin = end;
        if (budget.is_over())
            return TokenizeBudget::error();
        if (!budget.may_extend(tokens, 1))
            return TokenizeBudget::no_memory();
        const auto whole = is_break ? vocabulary_->find_text(line) : std::nullopt;
        if (whole) {
            tokens.push_back(*whole);
        } else {
            ETNA_CHECK(encode_line(line, budget, scratch, tokens));
        }
    }
    return {};
}

Status CharacterBpe::encode_line(std::string_view line, TokenizeBudget& budget, Scratch& scratch,
                                 std::vector<TokenId>& tokens) const {
    if (!budget.may_work_in(merging_bytes(line.size()) + space_mark.size() * line.size()))
        return TokenizeBudget::no_memory();
    scratch.marked.clear();
    scratch.marked.reserve(space_mark.size() * line.size());
    for (const char byte : line) {
        if (byte == ' ') {
            scratch.marked += space_mark;
        } else {
            scratch.marked += byte;
        }
    }
    const std::string_view text = scratch.marked;
    auto& symbols = scratch.symbols;
    symbols.clear();
    symbols.reserve(line.size());
    for (std::size_t position = 0; position < text.size(); position += symbols.back().length) {
        if (budget.is_over())
            return TokenizeBudget::error();
        const std::size_t bytes = next_utf8(text.substr(position)).bytes;
        const std::string_view character = text.substr(position, bytes);
        Symbol symbol{.begin = static_cast<uint32_t>(position), .length = static_cast<uint32_t>(bytes)};
        symbol.id = merges_.find_piece(character).value_or(Symbol::none);
        symbols.push_back(symbol);
    }
    link_symbols(symbols);
    const auto find = [&](const Symbol& left, const Symbol& right) {
        return merges_.find(left.id, right.id);
    };
    if (!merge_symbols(symbols, scratch.heap, budget, find))
        return TokenizeBudget::error();
    for (uint32_t i = 0; i != Symbol::none; i = symbols[i].next) {
        const bool is_token = symbols[i].id < vocabulary_->names.size();
        if (!budget.may_extend(tokens, is_token ? 1 : symbols[i].length))
            return TokenizeBudget::no_memory();
        if (is_token) {
            tokens.push_back(symbols[i].id);
        } else {
            ETNA_CHECK(byte_tokens_.append(text.substr(symbols[i].begin, symbols[i].length), tokens));
        }
    }
    return {};
}

} // namespace etna::text
