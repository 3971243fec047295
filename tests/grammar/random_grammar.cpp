#include "tests/grammar/random_grammar.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace etna::test {
namespace {

using Kind = Description::Kind;

uint32_t below(std::mt19937& random, uint32_t bound) {
    return static_cast<uint32_t>(random() % bound);
}

/// `rule` is the rule that contains this part; `count` is the number of rules to refer to.
Description random_part(std::mt19937& random, int depth, std::size_t rule, std::size_t count) {
    const uint32_t choice = below(random, depth == 0 ? 4 : 12);
    if (choice < 2)
        return {.kind = Kind::letter, .letter = choice == 0 ? 'a' : 'b'};
    if (choice == 2)
        return {.kind = below(random, 8) == 0 ? Kind::nothing : Kind::any_letter};
    if (choice == 3 || (choice >= 10 && count == 0))
        return {.kind = Kind::empty};
    const auto part = [&] { return random_part(random, depth - 1, rule, count); };
    if (choice < 6)
        return {.kind = Kind::sequence, .parts = {part(), part()}};
    if (choice < 8)
        return {.kind = Kind::either, .parts = {part(), part(), part()}};
    if (choice == 8) {
        const uint32_t min = below(random, 3);
        const uint32_t max = below(random, 3) == 0 ? grammar::unbounded : min + below(random, 3);
        return {.kind = Kind::repeat, .parts = {part()}, .min = min, .max = max};
    }
    if (choice == 9)
        return {.kind = Kind::unit, .parts = {random_part(random, depth - 1, rule, 0)}};
    const std::size_t named = below(random, static_cast<uint32_t>(count));
    Description one{.kind = Kind::rule, .rule = named};
    if (named > rule)
        return one;
    return {.kind = Kind::sequence, .parts = {{.kind = Kind::any_letter}, one, part()}};
}

/// An exhaustive recogniser: tries each part at each position once.
class Recogniser {
public:
    Recogniser(const Descriptions& rules, const std::string& text) : rules_(&rules), text_(&text) {}

    /// Where texts of the description that begin at `from` can end.
    const std::set<std::size_t>& ends(const Description& one, std::size_t from) {
        const auto [entry, is_new] = known_.try_emplace(std::pair(&one, from));
        if (is_new)
            entry->second = found(one, from);
        return entry->second;
    }

private:
    std::set<std::size_t> found(const Description& one, std::size_t from) {
        switch (one.kind) {
        case Kind::letter:
            return from < text_->size() && (*text_)[from] == one.letter ? std::set{from + 1}
                                                                        : std::set<std::size_t>{};
        case Kind::any_letter:
            return from < text_->size() ? std::set{from + 1} : std::set<std::size_t>{};
        case Kind::nothing:
            return {};
        case Kind::empty:
            return {from};
        case Kind::sequence: {
            std::set<std::size_t> reached = {from};
            for (const Description& part : one.parts)
                reached = after(reached, part);
            return reached;
        }
        case Kind::either: {
            std::set<std::size_t> all;
            for (const Description& part : one.parts)
                all.insert(ends(part, from).begin(), ends(part, from).end());
            return all;
        }
        case Kind::repeat:
            return of_repeat(one, from);
        case Kind::unit:
            return ends(one.parts[0], from);
        case Kind::rule:
            return ends((*rules_)[one.rule], from);
        }
        return {};
    }

    std::set<std::size_t> after(const std::set<std::size_t>& places, const Description& part) {
        std::set<std::size_t> further;
        for (const std::size_t at : places)
            further.insert(ends(part, at).begin(), ends(part, at).end());
        return further;
    }

    std::set<std::size_t> of_repeat(const Description& repeat, std::size_t from) {
        std::set<std::size_t> result;
        std::set<std::size_t> reached = {from};
        // Beyond the text's length in items, only items without letters can be added: they change nothing.
        for (uint32_t times = 0; times <= repeat.max && times <= repeat.min + text_->size() + 1; ++times) {
            if (times >= repeat.min)
                result.insert(reached.begin(), reached.end());
            reached = after(reached, repeat.parts[0]);
        }
        return result;
    }

    const Descriptions* rules_;
    const std::string* text_;
    std::map<std::pair<const Description*, std::size_t>, std::set<std::size_t>> known_;
};

} // namespace

Description random_regular(std::mt19937& random, int depth) {
    return random_part(random, depth, 0, 0);
}

Descriptions random_rules(std::mt19937& random, std::size_t count) {
    Descriptions rules;
    for (std::size_t rule = 0; rule < count; ++rule)
        rules.push_back(random_part(random, 3, rule, count));
    return rules;
}

grammar::Expression built(grammar::Language& language, const Description& one,
                          const std::vector<grammar::Expression>& rules) {
    std::vector<grammar::Expression> parts;
    for (const Description& part : one.parts)
        parts.push_back(built(language, part, rules));
    switch (one.kind) {
    case Kind::letter:
        return language.literal(std::string(1, one.letter));
    case Kind::any_letter:
        return language.bytes(grammar::ByteSet::range('a', 'b'));
    case Kind::nothing:
        return grammar::nothing;
    case Kind::empty:
        return grammar::empty;
    case Kind::sequence:
        return language.sequence(parts);
    case Kind::either:
        return language.either(parts);
    case Kind::repeat:
        return language.repeat(parts[0], one.min, one.max);
    case Kind::unit:
        return language.unit(parts[0]);
    case Kind::rule:
        return rules[one.rule];
    }
    return grammar::nothing;
}

grammar::Expression built(grammar::Language& language, const Descriptions& descriptions) {
    std::vector<grammar::Expression> rules;
    for (std::size_t i = 0; i < descriptions.size(); ++i)
        rules.push_back(language.rule(fmt::format("rule {}", i)));
    for (std::size_t i = 0; i < descriptions.size(); ++i)
        language.define(rules[i], built(language, descriptions[i], rules));
    return rules[0];
}

bool fits(const Descriptions& rules, const std::string& text) {
    return Recogniser(rules, text).ends(rules[0], 0).contains(text.size());
}

std::vector<std::string> all_texts(std::size_t length) {
    std::vector<std::string> texts = {""};
    for (std::size_t at = 0; at < texts.size(); ++at) {
        if (texts[at].size() < length) {
            texts.push_back(texts[at] + "a");
            texts.push_back(texts[at] + "b");
        }
    }
    return texts;
}

bool fits(grammar::Language& language, grammar::Expression set, std::string_view text) {
    return language.is_nullable(language.next(set, text));
}

bool can_end(grammar::Language& language, grammar::Expression from, std::size_t count,
             std::string_view letters) {
    std::set<grammar::Expression> reached = {from};
    for (std::size_t i = 0; i <= count; ++i) {
        std::set<grammar::Expression> further;
        for (const grammar::Expression e : reached) {
            if (language.is_nullable(e))
                return true;
            for (const char letter : letters)
                further.insert(language.next(e, static_cast<uint8_t>(letter)));
        }
        further.erase(grammar::nothing);
        reached = std::move(further);
    }
    return false;
}

} // namespace etna::test
