#include "core/text/unigram.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <variant>

#include <fmt/format.h>

namespace etna::text {
namespace {

/// The score of an unknown character is lower than that of the least likely token by this much
/// (sentencepiece, unigram_model.cc).
constexpr double unknown_penalty = 10;

constexpr std::string_view map_key = "tokenizer.ggml.precompiled_charsmap";

/// A unit of the double-array trie (darts-clone): label, offset and flags, or a value.
struct Unit {
    uint32_t bits = 0;

    [[nodiscard]] bool has_leaf() const { return (bits >> 8 & 1) != 0; }
    [[nodiscard]] uint32_t value() const { return bits & 0x7FFFFFFF; }
    [[nodiscard]] uint32_t label() const { return bits & 0x800000FF; }
    [[nodiscard]] uint32_t offset() const { return bits >> 10 << ((bits & 0x200) >> 6); }
};

Error damaged(const gguf::File& file, std::string_view what) {
    return {ErrorKind::corrupt, fmt::format("{}: {}", file.name(), what),
            "the file is damaged; fetch it again"};
}

/// Reads bytes from an array of 8-bit integers, signed or unsigned.
std::optional<std::vector<std::byte>> bytes_of(const gguf::Value& value) {
    const auto* const list = std::get_if<gguf::Array>(&value);
    if (list == nullptr)
        return std::nullopt;
    std::vector<std::byte> bytes;
    const auto take = [&](const auto& items) {
        using Item = typename std::decay_t<decltype(items)>::value_type;
        if constexpr (std::is_same_v<Item, uint8_t> || std::is_same_v<Item, int8_t>) {
            const auto view = std::as_bytes(std::span(items));
            bytes.assign(view.begin(), view.end());
            return true;
        }
        return false;
    };
    return std::visit(take, list->items) ? std::optional(std::move(bytes)) : std::nullopt;
}

Result<CharacterMap> read_map(const gguf::File& file) {
    const gguf::Value* const value = file.find(map_key);
    if (value == nullptr)
        return CharacterMap();
    const auto bytes = bytes_of(*value);
    if (!bytes)
        return damaged(file, fmt::format("{} is not a list of bytes", map_key));
    auto map = CharacterMap::create(*bytes);
    if (!map)
        return damaged(file, fmt::format("{}: {}", map_key, map.error().message));
    return map;
}

/// Replaces spaces by U+2581. Joins runs of spaces and drops those at both ends, or keeps them all.
class SpaceMarker {
public:
    SpaceMarker(bool joins_spaces, bool begins_with_space, TokenizeBudget& budget)
        : joins_spaces_(joins_spaces), begins_with_space_(begins_with_space), budget_(&budget) {}

    /// Appends a part of the text. Errors: cancelled, out_of_memory.
    Status add(std::string_view part);
    /// Returns the text; empty if spaces are joined and there is nothing else.
    std::string finish() { return std::move(marked_); }

private:
    bool joins_spaces_;
    bool begins_with_space_;
    TokenizeBudget* budget_; ///< borrowed
    bool has_begun_ = false;
    bool has_space_ = false; ///< a space that another character has to follow
    std::string marked_;
};

Status SpaceMarker::add(std::string_view part) {
    constexpr std::size_t bytes_per_step = 16;
    if (budget_->is_over(1 + part.size() / bytes_per_step))
        return TokenizeBudget::error();
    if (!budget_->may_extend(marked_, space_mark.size() * (part.size() + 2))) // with two spaces before it
        return TokenizeBudget::no_memory();
    for (const char byte : part) {
        if (joins_spaces_ && byte == ' ') {
            has_space_ = has_begun_;
            continue;
        }
        if ((!has_begun_ && begins_with_space_) || has_space_)
            marked_ += space_mark;
        has_begun_ = true;
        has_space_ = false;
        if (byte == ' ') {
            marked_ += space_mark;
        } else {
            marked_ += byte;
        }
    }
    return {};
}

} // namespace

Result<CharacterMap> CharacterMap::create(ByteView bytes) {
    const auto fail = [](const char* message) { return Error{ErrorKind::corrupt, message, {}}; };
    CharacterMap map;
    if (bytes.empty())
        return map;
    uint32_t trie_bytes = 0;
    if (bytes.size() < sizeof trie_bytes)
        return fail("it is shorter than its first number");
    std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
    const ByteView rest = bytes.subspan(sizeof trie_bytes);
    if (trie_bytes > rest.size() || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0)
        return fail("its trie is longer than the map");
    map.units_.resize(trie_bytes / sizeof(uint32_t));
    std::memcpy(map.units_.data(), rest.data(), trie_bytes);
    const ByteView texts = rest.subspan(trie_bytes);
    map.replacements_.assign(reinterpret_cast<const char*>(texts.data()), texts.size());
    map.replacements_ += '\0'; // terminates the last replacement
    return map;
}

std::optional<CharacterMap::Match> CharacterMap::find(std::string_view text) const {
    if (units_.empty())
        return std::nullopt;
    std::size_t matched_bytes = 0;
    uint32_t replacement = 0;
    uint32_t node = Unit{units_[0]}.offset();
    text = text.substr(0, rule_bytes_max);
    for (std::size_t i = 0; i < text.size() && text[i] != 0; ++i) {
        const auto byte = static_cast<uint8_t>(text[i]);
        node ^= byte;
        if (node >= units_.size() || Unit{units_[node]}.label() != byte)
            break;
        const Unit unit{units_[node]};
        node ^= unit.offset();
        if (!unit.has_leaf() || node >= units_.size())
            continue;
        const uint32_t at = Unit{units_[node]}.value();
        if (at >= replacements_.size())
            continue;
        matched_bytes = i + 1;
        replacement = at;
    }
    if (matched_bytes == 0)
        return std::nullopt;
    return Match{.bytes = matched_bytes, .replacement = replacements_.c_str() + replacement};
}

Result<Unigram> Unigram::create(const gguf::File& file, const Vocabulary& vocabulary) {
    if (vocabulary.scores.empty())
        return damaged(file, "tokenizer.ggml.scores is missing");
    const auto unknown = vocabulary.special.unknown ? vocabulary.special.unknown : vocabulary.find("<unk>");
    if (!unknown)
        return damaged(file, "the vocabulary has no unknown token");
    Unigram made(vocabulary, *unknown);
    ETNA_TRY(made.map_, read_map(file));
    made.joins_spaces_ = file.boolean("tokenizer.ggml.remove_extra_whitespaces").value_or(true);
    double least = std::numeric_limits<double>::max();
    for (TokenId token = 0; token < vocabulary.names.size(); ++token) {
        const std::string_view name = vocabulary.names[token];
        if (vocabulary.types[token] == TokenType::normal)
            least = std::min(least, double{vocabulary.scores[token]});
        if (name.size() > Vocabulary::text_name_bytes_max)
            continue;
        const std::size_t mark = name.find_first_not_of(space_mark);
        if (mark != std::string_view::npos && name.find(space_mark, mark) != std::string_view::npos)
            made.crosses_words_ = true;
    }
    made.unknown_score_ = (least == std::numeric_limits<double>::max() ? 0 : least) - unknown_penalty;
    return made;
}

/// Applies the rules of the map, and replaces spaces by U+2581. Other white space remains as the map leaves
/// it. Errors: cancelled, out_of_memory.
Result<std::string> Unigram::normalised(std::string_view text, bool begins_with_space,
                                        TokenizeBudget& budget) const {
    SpaceMarker marker(joins_spaces_, begins_with_space, budget);
    for (std::size_t at = 0; at < text.size();) {
        if (const auto match = map_.find(text.substr(at))) {
            ETNA_CHECK(marker.add(match->replacement));
            at += match->bytes;
            continue;
        }
        const Utf8Step step = next_utf8(text.substr(at));
        ETNA_CHECK(
            marker.add(step.kind == Utf8Kind::valid ? text.substr(at, step.bytes) : replacement_character));
        at += step.bytes;
    }
    return marker.finish();
}

/// Returns the end of the word that starts at `from`; no token crosses it.
std::size_t Unigram::word_end(std::string_view text, std::size_t from) const {
    if (crosses_words_)
        return text.size();
    std::size_t at = from;
    while (text.substr(at).starts_with(space_mark))
        at += space_mark.size();
    return std::min(text.find(space_mark, at), text.size());
}

Status Unigram::encode(std::string_view text, bool begins_with_space, TokenizeBudget& budget,
                       std::vector<TokenId>& tokens) const {
    ETNA_TRY(const std::string marked, normalised(text, begins_with_space, budget));
    for (std::size_t begin = 0; begin < marked.size();) {
        const std::size_t end = word_end(marked, begin);
        ETNA_CHECK(encode_word(std::string_view(marked).substr(begin, end - begin), budget, tokens));
        begin = end;
    }
    return {};
}

/// The Viterbi algorithm: finds the best segmentation of each prefix from those of shorter prefixes.
Status Unigram::encode_word(std::string_view word, TokenizeBudget& budget,
                            std::vector<TokenId>& tokens) const {
    struct Best {
        double score = -std::numeric_limits<double>::infinity();
        std::size_t begin = 0; ///< start of the last token
        TokenId token = 0;
    };
    if (!budget.may_work_in((word.size() + 1) * sizeof(Best)))
        return TokenizeBudget::no_memory();
    std::vector<Best> best(word.size() + 1);
    best[0].score = 0;
    for (std::size_t begin = 0; begin < word.size();) {
        const std::size_t character = next_utf8(word.substr(begin)).bytes;
        bool has_character = false;
        const auto offer = [&](std::size_t bytes, double score, TokenId token) {
            const double sum = best[begin].score + score;
            if (sum > best[begin + bytes].score)
                best[begin + bytes] = {.score = sum, .begin = begin, .token = token};
        };
        SortedNames::Prefix prefix = names_.all();
        for (std::size_t at = begin; at < word.size() && !prefix.is_empty();) {
            for (std::size_t end = at + next_utf8(word.substr(at)).bytes; at < end && !prefix.is_empty();
                 ++at) {
                if (budget.is_over())
                    return TokenizeBudget::error();
                prefix = names_.extended(prefix, word[at]);
            }
            const auto token = names_.value_at(prefix);
            if (!token)
                continue;
            has_character = has_character || prefix.bytes == character;
            const bool is_own = vocabulary_->types[*token] == TokenType::user_defined;
            offer(prefix.bytes, is_own ? 0 : double{vocabulary_->scores[*token]}, *token);
        }
        if (!has_character)
            offer(character, unknown_score_, unknown_);
        begin += character;
    }
    const std::size_t before = tokens.size();
    std::size_t count = 0;
    for (std::size_t end = word.size(); end > 0; end = best[end].begin)
        ++count;
    if (!budget.may_extend(tokens, count))
        return TokenizeBudget::no_memory();
    for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
        const bool is_joined =
            best[end].token == unknown_ && tokens.size() > before && tokens.back() == unknown_;
        if (!is_joined)
            tokens.push_back(best[end].token);
    }
    std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(before), tokens.end());
    return {};
}

} // namespace etna::text
