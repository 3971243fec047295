// Grammars in Lark's notation: every construct, and the errors of invalid ones.

#include "core/grammar/lark.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::grammar;

namespace {

/// Returns the texts that fit.
std::vector<std::string> fitting(std::string_view grammar, const std::vector<std::string>& texts) {
    Language language;
    const auto start = lark(language, grammar);
    INFO((start ? std::string() : start.error().message));
    REQUIRE(start.has_value());
    std::vector<std::string> fit;
    for (const std::string& text : texts) {
        if (language.is_nullable(language.next(*start, text)))
            fit.push_back(text);
    }
    return fit;
}

using Texts = std::vector<std::string>;

Error lark_error(std::string_view grammar) {
    Language language;
    const auto start = lark(language, grammar);
    REQUIRE_FALSE(start.has_value());
    return start.error();
}

} // namespace

TEST_CASE("a query language of rules, terminals, imports and ignored blanks") {
    constexpr std::string_view grammar = R"(
        // A few words of SQL.
        start: select where? ";"
        select: "SELECT"i column ("," column)* "FROM"i NAME -> selection
        ?column: NAME | "*"
        where: "WHERE"i NAME OPERATOR _value
             | "LIMIT"i INT
        _value: SIGNED_NUMBER | ESCAPED_STRING
        OPERATOR: "=" | "<" ["="] | ">" "="?
        NAME: /[a-z_][a-z0-9_]*/
        %import common.INT
        %import common (SIGNED_NUMBER, ESCAPED_STRING, WS -> BLANK)
        %ignore BLANK
    )";
    const Texts right = {"SELECT a FROM b;", "select a , b2,*\nfrom t WHERE a<=-1.5e3 ;",
                         "SELECT*FROM t LIMIT 10;", "  SELECT a FROM t WHERE n = \"x\\\"y\";  "};
    CHECK(fitting(grammar, right) == right);
    CHECK(fitting(grammar, {"SELECT FROM b;", "SELECT a FROM b", "SELECT a FROM B;", "SELECT a b FROM c;",
                            "SELECT a FROM t WHERE a<=;", "SELECT a FROM t LIMIT 1.5;"})
              .empty());
}

TEST_CASE("rules can be recursive") {
    constexpr std::string_view grammar = R"lark(
start: sum
sum: product (("+" | "-") product)*
product: atom ("*" atom)*
atom: NUMBER | "(" sum ")"
%import common.NUMBER
%ignore " "
)lark";
    const Texts right = {"1", "1 + 2*(3-4.5)", "((7))"};
    CHECK(fitting(grammar, right) == right);
    CHECK(fitting(grammar, {"", "1 +", "(1", "1 2"}).empty());
}

TEST_CASE("counts, ranges, options and priorities") {
    CHECK(fitting("start: \"a\" ~ 2..3 \"b\"~2", {"aabb", "aaabb", "abb", "aab"}) == Texts{"aabb", "aaabb"});
    CHECK(fitting("start: \"a\"..\"c\"+ [\"!\"]", {"abc!", "cc", "d", "!"}) == Texts{"abc!", "cc"});
    CHECK(fitting("!start: X\nX.2: \"\\u00e4\" \"\\n\"", {"\xC3\xA4\n", "a\n"}) == Texts{"\xC3\xA4\n"});
}

TEST_CASE("ignored text does not occur within terminals") {
    constexpr std::string_view grammar = "start: WORD WORD\nWORD: \"a\" \"b\"\n%ignore /[ ]/";
    CHECK(fitting(grammar, {"abab", "ab ab", " ab  ab ", "a bab"}) == Texts{"abab", "ab ab", " ab  ab "});
}

TEST_CASE("regular expressions support slashes, sets and the flag i") {
    CHECK(fitting(R"(start: /a\/[/]b+/i)", {"a//b", "A//BB", "a/b"}) == Texts{"a//b", "A//BB"});
    CHECK(fitting("start: \"x\"i /[0-9]{2}/", {"x12", "X12", "x1"}) == Texts{"x12", "X12"});
}

TEST_CASE("errors name the position and the problem") {
    const std::vector<std::pair<std::string_view, std::string_view>> wrong = {
        {"start: item", "line 1, column 8: the rule `item` is undefined"},
        {"begin: \"a\"", "the rule `start` is undefined"},
        {"start: \"a\"\nstart: \"b\"", "line 2, column 1: the rule `start` is defined twice"},
        {"start: (\"a\"", "`)` is missing"},
        {"start: \"a", "the closing quote is missing"},
        {"start: /a", "the closing `/` is missing"},
        {"start: /(/", "the grammar, line 1, column 9"},
        {"start \"a\"", "`:` is missing"},
        {"start: \"a\" ~", "a count is missing"},
        {"start: \"a\" ~ 3..2", "out of order"},
        {"start: \"b\"..\"a\"", "a range goes"},
        {"start: A\nA: b\nb: \"c\"", "a terminal cannot contain a rule"},
        {"start: A\n%import common.NOTHING", "`common` has no `NOTHING`"},
        {"start: \"a\" )", "this text is not part of a rule"},
    };
    for (const auto& [grammar, part] : wrong) {
        const Error error = lark_error(grammar);
        INFO(grammar << " -> " << error.message);
        CHECK(error.kind == ErrorKind::invalid_argument);
        CHECK(error.message.find(part) != std::string::npos);
    }
    for (const std::string_view grammar :
         {"start: list{\"a\"}", "%declare A\nstart: A", "%import python.NAME\nstart: NAME", "start: /a/s",
          "start: /[^a]/i", "start: start \"a\" | \"b\"", "start: /(?=a)b/"}) {
        INFO(grammar);
        CHECK(lark_error(grammar).kind == ErrorKind::unsupported);
    }
}

TEST_CASE("grammars with random mistakes are accepted, or refused with a message") {
    constexpr std::string_view right =
        "start: a? \"x\"i~1..3 | /[^a]b+/ (B a)* -> c\na: [B] \"a\"..\"f\"\n"
        "B.2: \"\\u00e4\" | _C\n_C: \"c\"\n%import common (WS -> D, INT)\n%ignore D";
    constexpr std::string_view letters = "aB_:|()[]\"/\\.~*+?%!->,{}# \n0\xC3\xFF";
    std::mt19937 random(3);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string text(right);
        for (uint32_t edits = 1 + random() % 4; edits > 0; --edits) {
            const std::size_t place = random() % text.size();
            if (random() % 3 == 0)
                text.erase(place, 1 + random() % 4);
            else
                text[place] = letters[random() % letters.size()];
        }
        Language language;
        const auto start = lark(language, text);
        if (!start) {
            ++refused;
            INFO(text);
            CHECK_FALSE(start.error().message.empty());
        }
    }
    CHECK(refused > 1000);
    CHECK(refused < 2000);
}

TEST_CASE("Lark is recognised by the colon of its rules") {
    CHECK(looks_like_lark("start: \"a\""));
    CHECK_FALSE(looks_like_lark("root ::= \"a\""));
}
