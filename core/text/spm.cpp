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
    for (TokenId token = 0; token < vocabulary.names.size(); ++token) {
        const std::string_view name = vocabulary.names[token];
        spm.longest_name_bytes_ = std::max(spm.longest_name_bytes_, name.size());
        if (const auto byte = byte_of_name(name); byte && !spm.token_of_byte_[*byte])
            spm.token_of_byte_[*byte] = token;
    }
    return spm;
}

Status Spm::encode(std::string_view text, Patience& patience, std::vector<TokenId>& tokens) const {
    std::vector<Symbol> symbols;
    for (std::size_t position = 0; position < text.size(); position += symbols.back().length) {
        symbols.push_back({.begin = static_cast<uint32_t>(position),
                           .length = static_cast<uint32_t>(next_utf8(text.substr(position)).bytes)});
    }
    if (symbols.empty())
        return {};
    link_symbols(symbols);
    std::vector<MergeCandidate> heap;
    const auto find = [&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
        const std::size_t bytes = std::size_t{left.length} + right.length;
        if (bytes > longest_name_bytes_)
            return std::nullopt;
        const auto token = vocabulary_->find_text(text.substr(left.begin, bytes));
        if (!token)
            return std::nullopt;
        return Merge{.order = -static_cast<double>(vocabulary_->scores[*token]), .id = *token};
    };
    if (!merge_symbols(symbols, heap, patience, find))
        return Patience::error();
    for (uint32_t i = 0; i != Symbol::none; i = symbols[i].next) {
        const std::string_view piece = text.substr(symbols[i].begin, symbols[i].length);
        if (symbols[i].id != Symbol::none) {
            tokens.push_back(symbols[i].id);
        } else if (const auto token = vocabulary_->find_text(piece)) { // a character that merged with nothing
            tokens.push_back(*token);
        } else {
            ETNA_CHECK(append_bytes(piece, tokens));
        }
    }
    return {};
}

Status Spm::append_bytes(std::string_view bytes, std::vector<TokenId>& tokens) const {
    for (const char byte : bytes) {
        if (const auto token = token_of_byte_[static_cast<uint8_t>(byte)]) {
            tokens.push_back(*token);
        } else if (vocabulary_->special.unknown) {
            tokens.push_back(*vocabulary_->special.unknown);
        } else {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("the model's vocabulary has no token for the byte 0x{:02X}",
                                     static_cast<uint8_t>(byte))};
        }
    }
    return {};
}

} // namespace etna::text
