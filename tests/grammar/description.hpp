#pragma once

#include "core/grammar/language.hpp"

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace etna::test {

/// A set of strings over "ab", as a tree; rules stand for others, and for themselves.
struct Description {
    enum class Kind : uint8_t { letter, any_letter, nothing, empty, sequence, either, repeat, unit, rule };
    Kind kind = Kind::empty;
    char letter = 'a';
    std::vector<Description> parts = {};
    uint32_t least = 0;
    uint32_t most = 0; ///< grammar::unbounded for no limit
    std::size_t rule = 0;
};

/// Rules by number; the first is what is asked for.
using Descriptions = std::vector<Description>;

/// Without rules that may begin with themselves, as each may name the ones behind it, and those before it
/// after a letter.
Descriptions random_rules(std::mt19937& random, std::size_t count);
/// Without rules in it.
Description random_regular(std::mt19937& random, int depth);

grammar::Expression built(grammar::Language& language, const Description& description,
                          const std::vector<grammar::Expression>& rules = {});
/// All of them in `language`; not sealed.
grammar::Expression built(grammar::Language& language, const Descriptions& rules);

/// Whether the first rule fits the whole text: by trying everything.
bool fits(const Descriptions& rules, const std::string& text);

/// All texts over "ab" of up to `length` letters.
std::vector<std::string> all_texts(std::size_t length);

} // namespace etna::test
