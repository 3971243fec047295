// Regular expressions against std::regex, over random patterns and all short texts, and the errors of invalid
// ones.

#include "core/grammar/regex.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <regex>
#include <string>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

std::string random_pattern(std::mt19937& random, int depth) {
    const auto part = [&] { return random_pattern(random, depth - 1); };
    switch (random() % (depth == 0 ? 5 : 11)) {
    case 0:
        return "a";
    case 1:
        return "b";
    case 2:
        return ".";
    case 3:
        return "[^a]";
    case 4:
        return "[ab]";
    case 5:
        return part() + part();
    case 6:
        return "(" + part() + "|" + part() + ")";
    case 7:
        return "(?:" + part() + ")*";
    case 8:
        return "(?:" + part() + ")+?";
    case 9:
        return "(?:" + part() + ")?";
    default:
        return fmt::format("(?:{}){{{},{}}}", part(), random() % 2, 1 + random() % 2);
    }
}

Expression parsed(Language& language, std::string_view pattern, MatchMode place) {
    const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
    const auto result = regex(language, pattern, alphabet, place);
    CAPTURE(pattern);
    REQUIRE(result.has_value());
    return *result;
}

Error regex_error(std::string_view pattern) {
    Language language;
    const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
    const auto result = regex(language, pattern, alphabet, MatchMode::search);
    CAPTURE(pattern);
    REQUIRE(!result.has_value());
    return result.error();
}

} // namespace

TEST_CASE("regular expressions match the same texts as std::regex") {
    std::mt19937 random(13);
    const auto texts = test::all_texts(5);
    for (int round = 0; round < 300; ++round) {
        const std::string pattern = random_pattern(random, 3);
        const std::string bound = (random() % 3 == 0 ? "^" : "") + pattern + (random() % 3 == 0 ? "$" : "");
        const std::string full = bound + "|" + (random() % 2 == 0 ? "^" : "") + random_pattern(random, 1);
        for (const std::string& one : {pattern, bound, full}) {
            Language language;
            const Expression whole = parsed(language, one, MatchMode::full);
            const Expression anywhere = parsed(language, one, MatchMode::search);
            const std::regex reference(one);
            for (const std::string& text : texts) {
                CAPTURE(one, text);
                REQUIRE(test::fits(language, whole, text) == std::regex_match(text, reference));
                REQUIRE(test::fits(language, anywhere, text) == std::regex_search(text, reference));
            }
        }
    }
}

TEST_CASE("escapes and classes have ECMAScript's meaning") {
    struct Case {
        std::string_view pattern;
        std::string_view text;
        bool matches;
    };
    for (const Case& one : {Case{R"(\d{4}-\d\d)", "2026-11", true},
                            {R"(\d)", "a", false},
                            {R"(\D\S\W)", "a-!", true},
                            {R"(\w+)", "ab_9", true},
                            {R"(\s)", "\xC2\xA0", true},
                            {R"(\s)", "\xE2\x80\xA8", true},
                            {R"([\d_-]+)", "4-_", true},
                            {R"([a-cx-z]+)", "abcxyz", true},
                            {R"([a-cx-z])", "d", false},
                            {R"([\]\\^-]+)", "]\\^-", true},
                            {R"([^\n])", "\n", false},
                            {R"(.)", "\n", false},
                            {R"(.)", "\xF0\x9F\x98\x80", true},
                            {R"(..)", "\xC3\xA9\xC3\xA9", true},
                            {R"(\u00e9\x41\u{1F600}\ud83d\ude00)",
                             "\xC3\xA9"
                             "A\xF0\x9F\x98\x80\xF0\x9F\x98\x80",
                             true},
                            {R"(\t\n\r\f\v\0\cA)", std::string_view("\t\n\r\f\v\0\x01", 7), true},
                            {R"(\/\.\-\@)", "/.-@", true},
                            {R"(\"\'\ \#\:\_\%)", "\"' #:_%", true},
                            {R"(\Aab\Z)", "ab", true},
                            {R"((\Aab\z|c))", "ab", true},
                            {R"((?<year>\d)x)", "1x", true},
                            {R"([])", "a", false},
                            {R"([^])", "\n", true},
                            {R"()", "", true},
                            {R"(a{2})", "aa", true},
                            {R"(a{2,})", "a", false}}) {
        Language language;
        CAPTURE(one.pattern, one.text);
        CHECK(test::fits(language, parsed(language, one.pattern, MatchMode::full), one.text) == one.matches);
    }
}

TEST_CASE("Python's anchors work like ECMAScript's") {
    Language language;
    for (const char* pattern : {R"(\Aab\Z)", R"(\Aab\z)", "^ab$"}) {
        const Expression texts = parsed(language, pattern, MatchMode::search);
        CAPTURE(pattern);
        CHECK(test::fits(language, texts, "ab"));
        for (const char* text : {"AabZ", "Aabz", "xab", "abx", ""})
            CHECK(!test::fits(language, texts, text));
    }
    CHECK(regex_error(R"(a\Ab)").message ==
          R"(the regular expression `a\Ab` has \A in the middle at character 2)");
    CHECK(regex_error(R"(a\zb)").kind == ErrorKind::unsupported);
    CHECK(regex_error(R"([\A])").kind == ErrorKind::invalid_argument);
    CHECK(regex_error(R"((\Z)*)").message ==
          "the regular expression `(\\Z)*` has a repeated anchor to the text's "
          "start or end at character 6");
}

TEST_CASE("escapes that ECMAScript does not define are refused by name") {
    const Error error = regex_error(R"(x\h+)");
    CHECK(error.message == R"(the regular expression `x\h+` has the unknown escape \h at character 3)");
    CHECK(error.hint == "write h for the letter, or use an escape of ECMAScript");
    for (const char* pattern : {R"(\a)", R"(\e)", R"(\Q.\E)", R"(\G)", R"(\R)", R"(\K)", R"([\h])", R"(\c_)",
                                R"(\012)", R"([\00])"}) {
        CAPTURE(pattern);
        CHECK(regex_error(pattern).kind == ErrorKind::invalid_argument);
    }
}

TEST_CASE("in a JSON string a pattern matches characters, not their escapes") {
    Language language;
    const Alphabet alphabet = [&](const CodePoints& set) { return json_character(language, set); };
    const Expression three = regex(language, "^.\\n[\"\\\\]$", alphabet, MatchMode::search).value();
    CHECK(test::fits(language, three, R"(x\n\")"));
    CHECK(test::fits(language, three, R"(\\\n\\)"));
    CHECK(!test::fits(language, three, "x\n\""));
    CHECK(!test::fits(language, three, R"(\n\n\")"));
}

TEST_CASE("invalid and unsupported regular expressions are refused with their position") {
    CHECK(regex_error("a(b").message == "the regular expression `a(b` has an unmatched ( at character 4");
    CHECK(regex_error("a)").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("[a").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("*a").message == "the regular expression `*a` has nothing to repeat at character 1");
    CHECK(regex_error("a{3,2}").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("a{x}").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("[b-a]").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("\\").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("\\u{110000}").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("\xFF").kind == ErrorKind::invalid_argument);
    CHECK(regex_error("(?=a)b").message == "the regular expression `(?=a)b` has a lookahead at character 3");
    CHECK(regex_error("(?<!a)b").kind == ErrorKind::unsupported);
    CHECK(regex_error("(a)\\1").kind == ErrorKind::unsupported);
    CHECK(regex_error("\\bword").kind == ErrorKind::unsupported);
    CHECK(regex_error("\\p{L}").kind == ErrorKind::unsupported);
    CHECK(regex_error("a^b").kind == ErrorKind::unsupported);
    CHECK(regex_error("a$b").kind == ErrorKind::unsupported);
    CHECK(regex_error("(^a)+").kind == ErrorKind::unsupported);
    CHECK(regex_error(std::string(1000, '(')).kind == ErrorKind::unsupported);
    CHECK(regex_error("a{1000000001}").kind == ErrorKind::unsupported);
}
