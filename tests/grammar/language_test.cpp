// Languages against a recogniser that tries everything, over random descriptions and all short texts.

#include "core/grammar/automaton.hpp"
#include "core/grammar/language.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <set>

using namespace etna;
using namespace etna::grammar;

TEST_CASE("a language agrees with an exhaustive recogniser") {
    std::mt19937 random(7);
    const auto texts = test::all_texts(7);
    std::size_t accepted = 0;
    std::size_t refused = 0;
    for (int round = 0; round < 400; ++round) {
        const test::Descriptions rules = test::random_rules(random, 1 + random() % 3);
        Language language;
        const auto root = language.seal(test::built(language, rules));
        for (const std::string& text : texts) {
            const bool is_expected = test::fits(rules, text);
            ++(is_expected ? accepted : refused);
            if (!root) {
                REQUIRE(!is_expected);
                continue;
            }
            const Expression left = language.next(*root, text);
            CAPTURE(round, text);
            REQUIRE(language.is_nullable(left) == is_expected);
        }
    }
    CHECK(accepted > 5000); // the descriptions say something
    CHECK(refused > 5000);
}

TEST_CASE("every state of a sealed language can reach an accepting state") {
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        const test::Descriptions rules = test::random_rules(random, 1 + random() % 4);
        Language language;
        const auto root = language.seal(test::built(language, rules));
        if (!root)
            continue;
        for (const std::string& text : test::all_texts(4)) {
            const Expression left = language.next(*root, text);
            CAPTURE(round, text);
            if (left != nothing)
                REQUIRE(test::can_end(language, left, 24, "ab"));
        }
    }
}

TEST_CASE("every state of within() can reach an accepting state") {
    std::mt19937 random(17);
    const auto texts = test::all_texts(6);
    std::size_t accepted = 0;
    std::size_t cut = 0;
    for (int round = 0; round < 300; ++round) {
        const test::Descriptions rules = test::random_rules(random, 1 + random() % 3);
        const test::Description regular = test::random_regular(random, 3);
        Language language;
        auto automaton = language.automaton(test::built(language, regular));
        const bool is_left_out = round % 2 == 0; // the complement accepts more
        if (is_left_out)
            automaton = complement(*automaton);
        REQUIRE(automaton.has_value());
        const auto both = language.within(test::built(language, rules), *automaton);
        REQUIRE(both.has_value());
        const auto root = language.seal(language.sequence(language.literal("a"), *both));
        for (const std::string& text : texts) {
            const bool fits = test::fits(rules, text);
            const bool is_expected = fits && test::fits({regular}, text) != is_left_out;
            accepted += is_expected ? 1 : 0;
            cut += fits && !is_expected ? 1 : 0;
            const Expression left = root ? language.next(*root, "a" + text) : nothing;
            CAPTURE(round, text);
            REQUIRE(language.is_nullable(left) == is_expected);
            REQUIRE((left == nothing || test::can_end(language, left, 12, "ab")));
        }
    }
    CHECK(accepted > 1000);
    CHECK(cut > 1000);
}

TEST_CASE("a left-recursive rule is named in the error") {
    Language language;
    const Expression item = language.literal("x");
    const Expression list = language.rule("list");
    language.define(list, language.either(item, language.sequence(list, item)));
    const auto sealed = language.seal(list);
    REQUIRE(!sealed.has_value());
    CHECK(sealed.error().kind == ErrorKind::unsupported);
    CHECK(sealed.error().message == "`list` is left-recursive");

    // After a nullable part too; the language remains usable.
    const Expression other = language.rule("other");
    language.define(other, language.either(item, language.sequence(language.optional(item), other)));
    CHECK(language.seal(other).error().message == "`other` is left-recursive");
    const Expression right = language.rule("right");
    language.define(right, language.either(item, language.sequence(item, right)));
    const Expression root = language.seal(right).value();
    CHECK(language.is_nullable(language.next(root, "xxx")));
    CHECK(!language.is_nullable(root));
}

TEST_CASE("rules without a finite text are removed, and refused if nothing remains") {
    Language language;
    const Expression endless = language.rule("endless");
    language.define(endless, language.sequence(language.literal("a"), endless));
    CHECK(language.seal(endless).error().message == "no text fits the grammar");
    const Expression undefined = language.rule("undefined");
    const Expression root = language
                                .seal(language.either(language.literal("ab"),
                                                      language.sequence(language.literal("ac"), undefined)))
                                .value();
    CHECK(language.next(root, "ac") == nothing);
    CHECK(language.is_nullable(language.next(root, "ab")));
}

TEST_CASE("a full language rejects texts and reports it") {
    Language language(20'000);
    const Expression root = language.repeat(language.literal("a"), 0, 1000);
    REQUIRE(language.seal(root).has_value());
    CHECK(language.next(root, "aaa") != nothing);
    CHECK(language.next(root, std::string(500, 'a')) == nothing);
    CHECK(language.is_full());
    CHECK(language.seal(root).error().kind == ErrorKind::unsupported);
}

TEST_CASE("each automaton counts once against the memory limit") {
    Language language;
    const Automaton many = language.automaton(language.literal(std::string(1000, 'a'))).value();
    const std::size_t bytes_before = language.bytes();
    const Expression root = language.accepted(many);
    CHECK(root != nothing);
    const std::size_t bytes = language.bytes() - bytes_before;
    CHECK(bytes >= many.targets.size() * sizeof(uint32_t));
    CHECK(language.accepted(many) == root);
    CHECK(language.bytes() - bytes_before == bytes);

    Language small(5000);
    CHECK(small.accepted(many) == nothing);
    CHECK(small.is_full());
}

TEST_CASE("counted repetitions and deep nesting cost steps when matched, not memory when built") {
    Language language;
    const Expression letter = language.bytes(ByteSet::range('a', 'z'));
    const Expression root = language.seal(language.repeat(letter, 2, 1'000'000'000)).value();
    CHECK(language.size() < 10);
    CHECK(!language.is_nullable(language.next(root, "a")));
    CHECK(language.is_nullable(language.next(root, std::string(1000, 'b'))));

    const Expression list = language.rule("list");
    const Expression inner = language.repeat(list, 0);
    language.define(list, language.sequence(std::array{language.literal("["), inner, language.literal("]")}));
    const Expression nested = language.seal(list).value();
    const std::string open(5000, '[');
    const std::string close(5000, ']');
    CHECK(language.is_nullable(language.next(nested, open + close)));
    CHECK(!language.is_nullable(language.next(nested, open + close.substr(1))));
    CHECK(language.next(nested, open + close + "]") == nothing);
}

TEST_CASE("only alternatives that can begin with a byte are derived by it") {
    std::mt19937 random(11);
    for (int round = 0; round < 40; ++round) {
        Language language;
        const Expression digit =
            language.accepted(language.automaton(language.bytes(ByteSet::range('0', '9'))).value());
        const Expression rule = language.rule("rule");
        std::vector<Expression> alternatives;
        const auto letter = [&] {
            const auto first = static_cast<uint8_t>('a' + random() % 20);
            const auto last = static_cast<uint8_t>(first + random() % 6);
            return language.bytes(ByteSet::range(first, last));
        };
        for (int i = 0; i < 60; ++i) {
            const Expression end = language.literal(std::to_string(i));
            const Expression both = language.sequence(letter(), letter());
            const std::array all = {both,
                                    language.repeat(both, random() % 2, 3),
                                    language.optional(letter()),
                                    language.unit(language.either(both, language.literal("zz"))),
                                    digit,
                                    rule,
                                    empty};
            Expression alternative = end;
            for (uint32_t parts = random() % 20; parts > 0; --parts)
                alternative = language.sequence(all[random() % all.size()], alternative);
            alternatives.push_back(alternative);
        }
        language.define(rule, language.optional(letter()));
        const Expression root = language.seal(language.either(alternatives)).value();
        for (int byte = 0; byte < 256; ++byte) {
            CAPTURE(round, byte);
            std::vector<Expression> after;
            for (const Expression alternative : alternatives)
                after.push_back(language.next(alternative, static_cast<uint8_t>(byte)));
            REQUIRE(language.next(root, static_cast<uint8_t>(byte)) == language.either(after));
        }
    }
}

TEST_CASE("alternatives that cannot begin with a byte cost almost nothing") {
    Language language;
    std::vector<Expression> alternatives;
    constexpr std::size_t count = 10'000;
    for (std::size_t i = 0; i < count; ++i)
        alternatives.push_back(language.literal(std::to_string(100'000 + i * 7) + "xyz"));
    const Expression root = language.seal(language.either(alternatives)).value();
    const std::size_t bytes_before = language.bytes();
    constexpr uint64_t steps = 1'000'000'000;
    language.set_step_budget(steps);
    for (int byte = 0; byte < 256; ++byte)
        static_cast<void>(language.next(root, static_cast<uint8_t>(byte)));
    CHECK(language.next(root, "100007xyz") == empty);
    CHECK(steps - language.steps_left() < 100 * count);
    CHECK(language.bytes() - bytes_before < 100 * count);
}

TEST_CASE("an uncached next() costs more steps than a cached one") {
    Language language;
    const std::string text(200, 'a');
    const Expression root = language.repeat(language.bytes(ByteSet::range('a', 'c')), 0, 1000);
    constexpr uint64_t steps = 1'000'000;
    language.set_step_budget(steps);
    CHECK(language.next(root, text) != nothing);
    CHECK(steps - language.steps_left() > text.size() * 75); // a derivation, and an expression
    const Expression literal = language.literal(text);
    language.set_step_budget(steps);
    CHECK(language.next(literal, text) == empty);
    CHECK(steps - language.steps_left() >= text.size() * 10); // no expression that was not there
    language.set_step_budget(steps);
    CHECK(language.next(literal, text) == empty);
    CHECK(language.steps_left() == steps);
}
