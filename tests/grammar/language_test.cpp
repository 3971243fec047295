// Languages against a recogniser that tries everything, over random descriptions and all short texts.

#include "core/grammar/automaton.hpp"
#include "core/grammar/language.hpp"
#include "tests/grammar/description.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <set>

using namespace etna;
using namespace etna::grammar;

namespace {

/// Whether a text of up to `letters` more ends what is left.
bool can_end(Language& language, Expression from, std::size_t letters) {
    std::set<Expression> reached = {from};
    for (std::size_t i = 0; i <= letters; ++i) {
        std::set<Expression> further;
        for (const Expression e : reached) {
            if (language.is_nullable(e))
                return true;
            further.insert(language.next(e, 'a'));
            further.insert(language.next(e, 'b'));
        }
        further.erase(nothing);
        reached = std::move(further);
    }
    return false;
}

} // namespace

TEST_CASE("a language holds what a recogniser that tries everything finds") {
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

TEST_CASE("whoever follows a sealed language can always come to an end") {
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
                REQUIRE(can_end(language, left, 24));
        }
    }
}

TEST_CASE("what an automaton accepts of a language can be followed to an end") {
    std::mt19937 random(17);
    const auto texts = test::all_texts(6);
    std::size_t accepted = 0;
    std::size_t cut = 0;
    for (int round = 0; round < 300; ++round) {
        const test::Descriptions rules = test::random_rules(random, 1 + random() % 3);
        const test::Description regular = test::random_regular(random, 3);
        Language language;
        auto automaton = language.automaton(test::built(language, regular));
        const bool is_left_out = round % 2 == 0; // what is left accepts more
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
            REQUIRE((left == nothing || can_end(language, left, 12)));
        }
    }
    CHECK(accepted > 1000);
    CHECK(cut > 1000);
}

TEST_CASE("a rule that begins with itself is named") {
    Language language;
    const Expression item = language.literal("x");
    const Expression list = language.rule("list");
    language.define(list, language.either(item, language.sequence(list, item)));
    const auto sealed = language.seal(list);
    REQUIRE(!sealed.has_value());
    CHECK(sealed.error().kind == ErrorKind::unsupported);
    CHECK(sealed.error().message == "`list` begins with itself");

    // Behind a part that may be empty as well; and the language goes on.
    const Expression other = language.rule("other");
    language.define(other, language.either(item, language.sequence(language.optional(item), other)));
    CHECK(language.seal(other).error().message == "`other` begins with itself");
    const Expression right = language.rule("right");
    language.define(right, language.either(item, language.sequence(item, right)));
    const Expression root = language.seal(right).value();
    CHECK(language.is_nullable(language.next(root, "xxx")));
    CHECK(!language.is_nullable(root));
}

TEST_CASE("what no finite text fits is left out, or refused where nothing else is") {
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

TEST_CASE("a language that is full refuses texts and says so") {
    Language language(20'000);
    const Expression root = language.repeat(language.literal("a"), 0, 1000);
    REQUIRE(language.seal(root).has_value());
    CHECK(language.next(root, "aaa") != nothing);
    CHECK(language.next(root, std::string(500, 'a')) == nothing);
    CHECK(language.is_full());
    CHECK(language.seal(root).error().kind == ErrorKind::unsupported);
}

TEST_CASE("counted repetitions and deep nesting cost steps, not space beforehand") {
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
