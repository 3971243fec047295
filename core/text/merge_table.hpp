#pragma once

#include "core/base/keyed_hash.hpp"
#include "core/base/result.hpp"
#include "core/text/merge.hpp"
#include "core/text/vocabulary.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace etna::text {

/// The merges of byte-pair encoding, from tokenizer.ggml.merges, the earliest in the list first. Immutable
/// after piece_named(); thread-safe then.
class MergeTable {
public:
    /// A token's piece is its id; pieces named by merges but missing from the vocabulary are numbered from
    /// its size.
    using Piece = uint32_t;

    /// Borrows `vocabulary`, which must not move. Errors: corrupt (merges missing or malformed).
    static Result<MergeTable> read(const gguf::File& file, const Vocabulary& vocabulary);

    /// Returns the piece with this spelling, which gets a number if it has none.
    Piece piece_named(std::string_view spelling);
    [[nodiscard]] std::optional<Piece> find_piece(std::string_view spelling) const;
    [[nodiscard]] std::optional<Merge> find(Piece left, Piece right) const;

private:
    explicit MergeTable(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

    const Vocabulary* vocabulary_;
    std::unordered_map<uint64_t, Merge, KeyedHash> merges_; ///< by left piece << 32 | right piece
    std::unordered_map<std::string, Piece, KeyedHash> other_pieces_;
};

} // namespace etna::text
