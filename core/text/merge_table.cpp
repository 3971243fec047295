#include "core/text/merge_table.hpp"

#include <fmt/format.h>

namespace etna::text {
namespace {

constexpr std::size_t merges_max = 1U << 22; // the longest list known has 515 thousand

uint64_t pair_key(uint32_t left, uint32_t right) {
    return (uint64_t{left} << 32) | right;
}

} // namespace

Result<MergeTable> MergeTable::read(const gguf::File& file, const Vocabulary& vocabulary) {
    MergeTable table(vocabulary);
    ETNA_TRY(const auto lines, read_strings(file, "tokenizer.ggml.merges"));
    if (lines.size() > merges_max) {
        return unsupported(
            fmt::format("{}: {} merges; at most {} can be read", file.name(), lines.size(), merges_max));
    }
    table.merges_.reserve(lines.size());
    std::string joined;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t space =
            lines[i].find(' ', 1); // the left piece is never empty, so it may begin with a space
        if (space == std::string_view::npos) {
            return Error{ErrorKind::corrupt, fmt::format("{}: merge {} is not two pieces", file.name(), i),
                         "the file is damaged; fetch it again"};
        }
        const std::string_view left = lines[i].substr(0, space);
        const std::string_view right = lines[i].substr(space + 1);
        joined.assign(left).append(right);
        table.merges_.try_emplace(pair_key(table.piece_named(left), table.piece_named(right)),
                                  Merge{.order = static_cast<float>(i), .id = table.piece_named(joined)});
    }
    return table;
}

MergeTable::Piece MergeTable::piece_named(std::string_view spelling) {
    if (const auto token = vocabulary_->find_text(spelling))
        return *token;
    const auto next = static_cast<Piece>(vocabulary_->names.size() + other_pieces_.size());
    return other_pieces_.try_emplace(std::string(spelling), next).first->second;
}

std::optional<MergeTable::Piece> MergeTable::find_piece(std::string_view spelling) const {
    if (const auto token = vocabulary_->find_text(spelling))
        return token;
    const auto other = other_pieces_.find(std::string(spelling));
    return other == other_pieces_.end() ? std::nullopt : std::optional(other->second);
}

std::optional<Merge> MergeTable::find(Piece left, Piece right) const {
    const auto found = merges_.find(pair_key(left, right));
    return found == merges_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace etna::text
