#include "core/text/bpe.hpp"

#include "core/base/log.hpp"
#include "core/text/byte_alphabet.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace etna::text {
Result<Bpe> Bpe::create(const gguf::File& file, const Vocabulary& vocabulary) {
    const auto name = file.text("tokenizer.ggml.pre");
    if (!name) {
        log(LogLevel::warning,
            fmt::format("{}: no tokenizer.ggml.pre; using `default`, the text may be cut into "
                        "other tokens than the model learned",
                        file.name()));
    }
    auto pre_tokenizer = PreTokenizer::create(name.value_or("default"));
    if (!pre_tokenizer)
        return std::move(pre_tokenizer).error().while_doing(file.name());
    ETNA_TRY(MergeTable merges, MergeTable::read(file, vocabulary));
    Bpe bpe(vocabulary, std::move(pre_tokenizer).value(), std::move(merges));
    for (unsigned byte = 0; byte < 256; ++byte)
        bpe.piece_of_byte_[byte] = bpe.merges_.piece_named(character_of_byte(static_cast<uint8_t>(byte)));
    return bpe;
}

Status Bpe::encode(std::string_view text, TokenizeBudget& budget, std::vector<TokenId>& tokens) const {
    Scratch scratch;
    return pre_tokenizer_.split(
        text, budget, [&](std::string_view word) { return encode_word(word, budget, scratch, tokens); });
}

Status Bpe::encode_word(std::string_view word, TokenizeBudget& budget, Scratch& scratch,
                        std::vector<TokenId>& tokens) const {
    if (budget.is_over())
        return TokenizeBudget::error();
    constexpr std::size_t bytes_per_byte = 3; // the spelling, and the copy without bytes that have no token
    if (!budget.may_work_in(merging_bytes(word.size()) + bytes_per_byte * word.size()))
        return TokenizeBudget::no_memory();
    const bool may_be_token = word.size() <= vocabulary_->longest_name_bytes;
    if (pre_tokenizer_.row().ignore_merges == IgnoreMerges::yes && may_be_token) {
        if (const auto word_token = vocabulary_->find_text(spell_bytes(word))) {
            if (!budget.may_extend(tokens, 1))
                return TokenizeBudget::no_memory();
            tokens.push_back(*word_token);
            return {};
        }
    }
    const auto has_token = [&](char byte) {
        return piece_of_byte_[static_cast<uint8_t>(byte)] < vocabulary_->names.size();
    };
    if (!std::all_of(word.begin(), word.end(), has_token)) {
        scratch.word.clear();
        std::copy_if(word.begin(), word.end(), std::back_inserter(scratch.word), has_token);
        word = scratch.word;
    }
    if (word.empty())
        return {};
    auto& symbols = scratch.symbols;
    symbols.clear();
    symbols.reserve(word.size());
    for (std::size_t i = 0; i < word.size(); ++i) {
        symbols.push_back({.id = piece_of_byte_[static_cast<uint8_t>(word[i])],
                           .begin = static_cast<uint32_t>(i),
                           .length = 1});
    }
    link_symbols(symbols);
    const auto find = [&](const Symbol& left, const Symbol& right) {
        return merges_.find(left.id, right.id);
    };
    if (!merge_symbols(symbols, scratch.heap, budget, find))
        return TokenizeBudget::error();
    for (uint32_t i = 0; i != Symbol::none; i = symbols[i].next) {
        if (!budget.may_extend(tokens, symbols[i].length))
            return TokenizeBudget::no_memory();
        if (symbols[i].id < vocabulary_->names.size()) {
            tokens.push_back(symbols[i].id);
        } else {
            for (const char byte : word.substr(symbols[i].begin, symbols[i].length))
                tokens.push_back(piece_of_byte_[static_cast<uint8_t>(byte)]);
        }
    }
    return {};
}

} // namespace etna::text
