#include "core/text/character_bpe.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::text {
namespace {

uint64_t key_of(uint32_t left, uint32_t right) {
    return (uint64_t{left} << 32) | right;
}

} // namespace

Result<CharacterBpe> CharacterBpe::create(const gguf::File& file, const Vocabulary& vocabulary) {
    CharacterBpe bpe(vocabulary);
    for (TokenId token = 0; token < vocabulary.names.size(); ++token) {
        if (const auto byte = byte_of_name(vocabulary.names[token]); byte && !bpe.token_of_byte_[*byte])
            bpe.token_of_byte_[*byte] = token;
    }
    ETNA_CHECK(bpe.read_merges(file));
    return bpe;
}

CharacterBpe::Piece CharacterBpe::piece_named(std::string_view spelling) {
    if (const auto token = vocabulary_->find_text(spelling))
        return *token;
    const auto next = static_cast<Piece>(vocabulary_->names.size() + other_pieces_.size());
    return other_pieces_.try_emplace(std::string(spelling), next).first->second;
}

Status CharacterBpe::read_merges(const gguf::File& file) {
    ETNA_TRY(const auto lines, read_strings(file, "tokenizer.ggml.merges"));
    merges_.reserve(lines.size());
    std::string joined;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t space = lines[i].find(' ', 1);
        if (space == std::string_view::npos) {
            return Error{ErrorKind::corrupt, fmt::format("{}: merge {} is not two pieces", file.name(), i),
                         "the file is damaged; fetch it again"};
        }
        const std::string_view left = lines[i].substr(0, space);
        const std::string_view right = lines[i].substr(space + 1);
        joined.assign(left).append(right);
        merges_.try_emplace(key_of(piece_named(left), piece_named(right)),
                            Merge{.order = static_cast<float>(i), .id = piece_named(joined)});
    }
    return {};
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
    for (std::size_t position = 0; position < text.size(); position += symbols.back().length) {
        const std::size_t bytes = next_utf8(text.substr(position)).bytes;
        const std::string_view character = text.substr(position, bytes);
        Symbol symbol{.begin = static_cast<uint32_t>(position), .length = static_cast<uint32_t>(bytes)};
        if (const auto token = vocabulary_->find_text(character)) {
            symbol.id = *token;
        } else if (const auto other = other_pieces_.find(std::string(character));
                   other != other_pieces_.end()) {
            symbol.id = other->second;
        }
        symbols.push_back(symbol);
    }
    link_symbols(symbols);
    const auto find = [&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
        const auto found = merges_.find(key_of(left.id, right.id));
        return found == merges_.end() ? std::nullopt : std::optional(found->second);
    };
    if (!merge_symbols(symbols, scratch.heap, budget, find))
        return TokenizeBudget::error();
    for (uint32_t i = 0; i != Symbol::none; i = symbols[i].next) {
        if (symbols[i].id < vocabulary_->names.size()) {
            tokens.push_back(symbols[i].id);
        } else {
            ETNA_CHECK(append_bytes(text.substr(symbols[i].begin, symbols[i].length), tokens));
        }
    }
    return {};
}

Status CharacterBpe::append_bytes(std::string_view bytes, std::vector<TokenId>& tokens) const {
    for (const char byte : bytes) {
        if (const auto token = token_of_byte_[static_cast<uint8_t>(byte)]) {
            tokens.push_back(*token);
        } else if (vocabulary_->special.unknown) {
            tokens.push_back(*vocabulary_->special.unknown);
        } else {
            return invalid_argument(fmt::format("the model's vocabulary has no token for the byte 0x{:02X}",
                                                static_cast<uint8_t>(byte)));
        }
    }
    return {};
}

} // namespace etna::text
