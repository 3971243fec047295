// Counted texts of automata against counting, over random automata and all short texts; and their masks.

#include "core/grammar/lengths.hpp"
#include "core/grammar/masks.hpp"
#include "tests/grammar/mask_check.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::grammar;

namespace {

/// Characters are `a`, `ba` and `bb`, as escapes are in JSON.
std::optional<uint32_t> escaped_characters_in(std::string_view text) {
    uint32_t count = 0;
    std::size_t at = 0;
    for (; at < text.size(); ++count)
        at += text[at] == 'b' ? 2 : 1;
    return at > text.size() ? std::nullopt : std::optional(count);
}

Automaton any_characters(Language& language) {
    const Expression letter = language.either(language.literal("a"), language.literal("b"));
    const Expression character =
        language.either(language.literal("a"), language.sequence(language.literal("b"), letter));
    return language.automaton(language.repeat(character, 0)).value();
}

/// The random texts that consist of characters, or all texts of characters except those.
Automaton random_content(Language& language, const Automaton& characters, std::mt19937& random) {
    const Expression regular = test::built(language, test::random_regular(random, 4));
    const Automaton some = language.automaton(regular).value();
    const bool is_left_out = random() % 2 == 0;
    return intersection(is_left_out ? complement(some).value() : some, characters).value();
}

} // namespace

TEST_CASE("counted texts have the required number of characters, and every state can reach an end") {
    std::mt19937 random(5);
    const auto texts = test::all_texts(8);
    std::size_t accepted = 0;
    std::size_t cut = 0;
    for (int round = 0; round < 300; ++round) {
        Language language;
        const Automaton characters = any_characters(language);
        const Automaton content = random_content(language, characters, random);
        const auto min = static_cast<uint32_t>(random() % 5);
        const uint32_t max = random() % 4 == 0 ? unbounded : min + static_cast<uint32_t>(random() % 4);
        const auto counted = language.counted(content, characters, min, max);
        REQUIRE(counted.has_value());
        const Expression all = language.accepted(content);
        for (const std::string& text : texts) {
            const auto count = escaped_characters_in(text);
            const bool fits = language.is_nullable(language.next(all, text));
            const bool is_expected = fits && count && *count >= min && *count <= max;
            const Expression left = language.next(*counted, text);
            CAPTURE(round, text, min, max);
            REQUIRE(language.is_nullable(left) == is_expected);
            REQUIRE((left == nothing || test::can_end(language, left, 40, "ab")));
            accepted += is_expected ? 1 : 0;
            cut += fits && !is_expected ? 1 : 0;
        }
    }
    CHECK(accepted > 3000);
    CHECK(cut > 3000);
}

TEST_CASE("masks of counted texts agree with each token alone") {
    std::mt19937 random(13);
    std::vector<std::string> tokens = {"", "a", "b", "c"};
    for (int i = 0; i < 300; ++i) {
        std::string token;
        for (std::size_t length = 1 + random() % (i % 10 == 0 ? 50 : 6); token.size() < length;)
            token += random() % 40 == 0 ? 'c' : random() % 3 == 0 ? 'b' : 'a';
        tokens.push_back(token);
    }
    const Vocabulary vocabulary(tokens);
    std::size_t states = 0;
    for (int round = 0; round < 120; ++round) {
        Language language;
        Masks masks(language, vocabulary);
        const Automaton characters = any_characters(language);
        const Automaton content = random_content(language, characters, random);
        const auto min = static_cast<uint32_t>(random() % 2 == 0 ? 0 : random() % 90);
        const uint32_t max = random() % 4 == 0 ? unbounded : min + static_cast<uint32_t>(random() % 90);
        const auto counted = language.counted(content, characters, min, max);
        REQUIRE(counted.has_value());
        for (Expression state = language.sequence(*counted, language.literal("c")); state != nothing;) {
            CAPTURE(round, min, max);
            const std::vector<TokenId> allowed = test::check_mask(language, masks, vocabulary, state);
            ++states;
            state = allowed.empty()
                        ? nothing
                        : language.next(state, vocabulary.bytes(allowed[random() % allowed.size()]));
        }
    }
    CHECK(states > 600);
}

TEST_CASE("lengths with gaps and periods are known at any size") {
    Language language;
    const Expression a = language.literal("a");
    const auto of = [&](Expression texts, uint32_t max = unbounded) {
        const Automaton automaton = language.automaton(texts).value();
        std::size_t visits = 0;
        return Lengths::create(automaton, std::vector<bool>(automaton.state_count(), true), max, visits)
            .value();
    };
    // 2, 3, 7, 11, ...
    const Lengths gaps = of(language.either(
        language.repeat(a, 2, 2),
        language.sequence(language.repeat(a, 3, 3), language.repeat(language.repeat(a, 4, 4), 0))));
    CHECK(gaps.known_to() == unbounded);
    CHECK(gaps.at_least(0, 0) == 2);
    CHECK(gaps.at_least(0, 4) == 7);
    CHECK(gaps.at_least(0, 1'000'000'000) == 1'000'000'003);
    CHECK(gaps.at_most(0, 1'000'000'002) == 999'999'999);
    CHECK(gaps.at_most(0, 6) == 3);
    CHECK(gaps.at_most(0, 1) == std::nullopt);
    CHECK(gaps.at_most(0, unbounded) == unbounded);
    const Lengths few = of(language.repeat(a, 5, 9));
    CHECK(few.at_least(0, 10) == std::nullopt);
    CHECK(few.at_most(0, unbounded) == 9);
    const Lengths cut = of(language.repeat(a, 0, 9000), 64);
    CHECK(cut.known_to() == 64);
    CHECK(cut.at_most(0, 64) == 64);
    const Automaton many = language.automaton(language.repeat(a, 0, 16'000)).value();
    std::size_t visits = 0;
    const auto refused =
        Lengths::create(many, std::vector<bool>(many.state_count(), true), unbounded, visits);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::unsupported);
}
