#include "core/text/spm.hpp"

#include "core/base/utf8.hpp"
#include "core/text/merge.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::text {

Result<Spm> Spm::create(const gguf::File& file, const Vocabulary& vocabulary) {
    if (vocabulary.scores.empty()) {
        return Error{ErrorKind::corrupt, fmt::format("{}: tokenizer.ggml.scores is missing", file.name()),
                     "convert the model again with its tokenizer.model at hand"};
    }
    Spm spm(vocabulary);
    spm.longest_name_bytes_ = std::min(vocabulary.longest_name_bytes, Vocabulary::text_name_bytes_max);
    for (TokenId token = 0; token < vocabulary.names.size(); ++token) {
        const std::string_view name = vocabulary.names[token];
        if (name.size() > Vocabulary::text_name_bytes_max)
            continue;
        for (std::size_t mark = name.find(space_mark, 1); mark < name.size();
             mark = name.find(space_mark, mark + 1))
            spm.may_precede_mark_[static_cast<uint8_t>(name[mark - 1])] = true;
    }
    return spm;
}

Status Spm::encode(std::string_view text, bool begins_with_space, TokenizeBudget& budget,
                   std::vector<TokenId>& tokens) const {
    Scratch scratch;
    if (begins_with_space)
        scratch.marked = space_mark;
    for (std::size_t begin = 0; begin < text.size();) {
        if (budget.is_over())
            return TokenizeBudget::error();
        const std::size_t end = word_end(text, begin);
        const std::string_view word = text.substr(begin, end - begin);
        const std::size_t symbols_max = word.size() + 1; // with the prepended space
        if (!budget.may_work_in(merging_bytes(symbols_max) + space_mark.size() * symbols_max))
            return TokenizeBudget::no_memory();
        scratch.symbols.reserve(symbols_max);
        scratch.marked.reserve(space_mark.size() * symbols_max);
        for (const char byte : word) {
            if (byte == ' ') {
                scratch.marked += space_mark;
            } else {
                scratch.marked += byte;
            }
        }
        ETNA_CHECK(encode_word(budget, scratch, tokens));
        scratch.marked.clear();
        begin = end;
    }
    return {};
}

/// Returns the next split position after `from`: before a space that no token contains after the preceding
/// character.
std::size_t Spm::word_end(std::string_view text, std::size_t from) const {
    for (std::size_t space = text.find(' ', from + 1); space < text.size();
         space = text.find(' ', space + 1)) {
        const char before = text[space - 1] == ' ' ? space_mark.back() : text[space - 1];
        if (!may_precede_mark_[static_cast<uint8_t>(before)])
            return space;
    }
    return text.size();
}

Status Spm::encode_word(TokenizeBudget& budget, Scratch& scratch, std::vector<TokenId>& tokens) const {
    const std::string_view text = scratch.marked;
    auto& symbols = scratch.symbols;
    symbols.clear();
    for (std::size_t position = 0; position < text.size(); position += symbols.back().length) {
        if (budget.is_over())
            return TokenizeBudget::error();
        symbols.push_back({.begin = static_cast<uint32_t>(position),
                           .length = static_cast<uint32_t>(next_utf8(text.substr(position)).bytes)});
    }
    link_symbols(symbols);
    const auto find = [&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
        const std::size_t bytes = std::size_t{left.length} + right.length;
        if (bytes > longest_name_bytes_)
            return std::nullopt;
        const auto token = vocabulary_->find_text(text.substr(left.begin, bytes));
        if (!token)
            return std::nullopt;
        return Merge{.order = -vocabulary_->scores[*token], .id = *token};
    };
    if (!merge_symbols(symbols, scratch.heap, budget, find))
        return TokenizeBudget::error();
    for (uint32_t i = 0; i != Symbol::none; i = symbols[i].next) {
        const std::string_view piece = text.substr(symbols[i].begin, symbols[i].length);
        const bool is_token = symbols[i].id != Symbol::none;
        const auto token = is_token ? std::optional(symbols[i].id)
                                    : vocabulary_->find_text(piece); // a character that did not merge
        if (!budget.may_extend(tokens, token ? 1 : piece.size()))
            return TokenizeBudget::no_memory();
        if (token) {
            tokens.push_back(*token);
        } else {
            ETNA_CHECK(byte_tokens_.append(piece, tokens));
        }
    }
    return {};
}

} // namespace etna::text
