// Automata of random expressions, and their intersections and complements.

#include "core/grammar/automaton.hpp"
#include "core/grammar/language.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <random>

using namespace etna;
using namespace etna::grammar;

namespace {

bool accepts(const Automaton& automaton, const std::string& text) {
    if (automaton.state_count() == 0)
        return false;
    uint32_t state = 0;
    for (const char byte : text) {
        state = automaton.next(state, static_cast<uint8_t>(byte));
        if (state == Automaton::dead)
            return false;
    }
    return automaton.accepts[state];
}

} // namespace

TEST_CASE("automata, intersections and complements agree with their expressions") {
    std::mt19937 random(3);
    const auto texts = test::all_texts(6);
    for (int round = 0; round < 300; ++round) {
        const test::Descriptions left = {test::random_regular(random, 4)};
        const test::Descriptions right = {test::random_regular(random, 4)};
        Language language;
        const Automaton a = language.automaton(test::built(language, left[0])).value();
        const Automaton b = language.automaton(test::built(language, right[0])).value();
        const Automaton both = intersection(a, b).value();
        const Automaton other = complement(a).value();
        const Expression again = language.accepted(both);
        for (const std::string& text : texts) {
            CAPTURE(round, text);
            const bool in_left = test::fits(left, text);
            const bool in_right = test::fits(right, text);
            REQUIRE(accepts(a, text) == in_left);
            REQUIRE(accepts(both, text) == (in_left && in_right));
            REQUIRE(accepts(other, text) != in_left);
            REQUIRE(language.is_nullable(language.next(again, text)) == (in_left && in_right));
        }
        CHECK(accepts(other, "c")); // a byte that no expression contains
        CHECK(complement(other).value() == a);
        CHECK(intersection(a, other).value().state_count() == 0);
    }
}

TEST_CASE("equal sets have equal automata") {
    Language language;
    const Expression a = language.literal("a");
    const Expression b = language.literal("b");
    const Expression one = language.repeat(language.either(a, b), 0);
    const Expression stars = language.sequence(
        language.repeat(a, 0), language.repeat(language.sequence(b, language.repeat(a, 0)), 0));
    const Automaton automaton = language.automaton(one).value();
    CHECK(automaton == language.automaton(stars).value());
    CHECK(automaton.state_count() == 1);
    CHECK(automaton.class_count == 2); // a and b, and all that are neither
}

TEST_CASE("an automaton that would grow too large is refused") {
    Language language;
    // The letter 20 before the end: 2^20 states.
    const Expression letter = language.bytes(ByteSet::range('a', 'b'));
    const Expression root = language.sequence(
        std::array{language.repeat(letter, 0), language.literal("a"), language.repeat(letter, 19, 19)});
    const auto automaton = language.automaton(root);
    REQUIRE(!automaton.has_value());
    CHECK(automaton.error().kind == ErrorKind::unsupported);
}
