#pragma once

#include "core/base/sorted_names.hpp"
#include "core/base/token.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace etna {

/// Whether a special token may lie across a barrier of the text: see SpecialMatcher::find().
enum class AtBarrier : uint8_t { ends, passes };

/// Finds special tokens ("<|im_end|>") inside text: the leftmost one, and the longest of those that begin
/// there. Time is linear in the text, and grows with the logarithm of the number of tokens. Immutable after
/// finish(); thread-safe then.
class SpecialMatcher {
public:
    /// Longer names are not found; this bounds the work at each position of the text.
    static constexpr std::size_t longest_name_bytes = 512;

    /// Makes `name` (copied) match as `token`; of two equal names the first wins.
    void add(std::string_view name, TokenId token, AtBarrier at_barrier = AtBarrier::ends);
    /// Call it after the last add(), before any search.
    void finish() { names_.finish(); }

    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
        TokenId token = 0;
    };
    /// Returns the first match that begins at `from` or later, and before `until`. `barriers` are ascending
    /// positions in the text: a name added with AtBarrier::ends does not match across one, i.e. with bytes on
    /// both sides.
    [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from,
                                            std::span<const std::size_t> barriers = {},
                                            std::size_t until = std::string_view::npos) const;

    /// Returns whether a name begins with `text` and is longer.
    [[nodiscard]] bool is_proper_prefix(std::string_view text) const;

private:
    [[nodiscard]] std::optional<Match> find_at(std::string_view text, std::size_t begin,
                                               std::size_t barrier) const;

    SortedNames names_; ///< values: the token, with `passes_flag`
};

} // namespace etna
