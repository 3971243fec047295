#pragma once

#include "core/grammar/language.hpp"

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace etna::test {

/// A set of strings over "ab", as a tree; rules may be recursive.
struct Description {
    enum class Kind : uint8_t { letter, any_letter, nothing, empty, sequence, either, repeat, unit, rule };
    Kind kind = Kind::empty;
    char letter = 'a';
    std::vector<Description> parts = {};
    uint32_t min = 0;
    uint32_t max = 0; ///< grammar::unbounded for no limit
    std::size_t rule = 0;
};

/// Rules by number; the first is the start.
using Descriptions = std::vector<Description>;

/// Without left recursion: a rule refers to later rules anywhere, and to itself and earlier ones after a
/// letter.
Descriptions random_rules(std::mt19937& random, std::size_t count);
/// A description without rules.
Description random_regular(std::mt19937& random, int depth);

grammar::Expression built(grammar::Language& language, const Description& description,
                          const std::vector<grammar::Expression>& rules = {});
/// Builds all rules in `language`, unsealed.
grammar::Expression built(grammar::Language& language, const Descriptions& rules);

/// Whether the complete text matches the first rule, found exhaustively.
bool fits(const Descriptions& rules, const std::string& text);

/// All texts over "ab" of up to `length` letters.
std::vector<std::string> all_texts(std::size_t length);

/// Whether the text is in the set.
bool fits(grammar::Language& language, grammar::Expression set, std::string_view text);

/// Whether at most `count` more bytes of `letters` lead to an end.
bool can_end(grammar::Language& language, grammar::Expression from, std::size_t count,
             std::string_view letters);

} // namespace etna::test
